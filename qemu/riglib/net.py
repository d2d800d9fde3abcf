# SPDX-License-Identifier: GPL-2.0
"""The Ethernet between the guests, which is connected to nothing else.

stream: unix sockets between the QEMU processes; no privileges, no offloads. Two guests
        are joined by one socket, more by a hub inside guest a's QEMU.
bridge: TAP devices with vnet_hdr (so TSO, GSO and checksum offload work, as under any
        hypervisor) on a bridge, in a network namespace of its own.
"""

import os
import time

from . import paths, state, tool
from .say import RigError

KINDS = ("stream", "bridge")


def _socket(index):
    return "net%d.sock" % index


def _stream(guest, count):
    end = "addr.type=unix,addr.path="
    if guest["index"] > 1:
        return ["-netdev", "stream,id=net0,server=off," + end + _socket(guest["index"])]
    if count <= 2:  # with one guest there is no connection, and what it sends is dropped
        return ["-netdev", "stream,id=net0,server=on," + end + _socket(2)]
    argv = ["-netdev", "hubport,id=net0,hubid=0"]
    for other in range(2, count + 1):
        argv += ["-netdev", "stream,id=s%d,server=on,%s%s" % (other, end, _socket(other)),
                 "-netdev", "hubport,id=h%d,hubid=0,netdev=s%d" % (other, other)]
    return argv


def netdev(kind, guest, count):
    """QEMU's -netdev arguments for a guest. Its NIC has to use netdev=net0."""
    if kind == "stream":
        return _stream(guest, count)
    return ["-netdev", "tap,id=net0,ifname=%s,script=no,downscript=no,vhost=off" % _tap(guest)]


def wait_ready(name, kind, guest, count, limit_s=10):
    """After guest a's QEMU started: wait for the sockets that the others connect to."""
    if kind != "stream" or guest["index"] != 1:
        return
    deadline = time.monotonic() + limit_s
    for other in range(2, count + 1):
        path = os.path.join(paths.run_dir(name), _socket(other))
        while not os.path.exists(path):
            if not state.alive(state.Process(*guest["process"])):
                return  # its end is reported later, with its output
            if time.monotonic() > deadline:
                raise RigError("guest a's QEMU did not open its network socket in %d s" % limit_s)
            time.sleep(0.01)


# -- bridge

def _tap(guest):
    return "tap-" + guest["name"]


def namespace(name):
    """The network namespace of a bridged rig."""
    return "rig-" + name


def prefix(name, kind):
    """The start of a guest's QEMU command line."""
    return [] if kind == "stream" else [tool.find("ip"), "netns", "exec", namespace(name)]


def set_up(name, kind, guests, mtu):
    """Make the bridge and its TAPs. Streams need nothing."""
    if kind == "stream":
        return
    if os.geteuid():
        raise RigError("--net bridge makes a network namespace and TAP devices, which takes root; "
                       "--net stream does not")
    if not os.path.exists("/dev/net/tun"):
        raise RigError("--net bridge needs /dev/net/tun: modprobe tun")
    tear_down(name)
    space = namespace(name)
    tool.run(["ip", "netns", "add", space], what="ip netns add")
    # No multicast snooping: without a querier the bridge would drop RoCE multicast and ND.
    lines = ["link add br0 type bridge forward_delay 0 mcast_snooping 0",
             "link set br0 mtu %d" % mtu, "link set br0 addrgenmode none", "link set br0 up"]
    for guest in guests:
        tap = _tap(guest)
        tool.run(["ip", "-n", space, "tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr"],
                 what="ip tuntap add")
        lines += ["link set %s mtu %d" % (tap, mtu), "link set %s addrgenmode none" % tap,
                  "link set %s master br0" % tap, "link set %s up" % tap]
    for line in lines:
        tool.run(["ip", "-n", space] + line.split(), what="ip " + line)


def tear_down(name):
    """Remove the namespace and all in it. Harmless if there is none."""
    if os.path.exists("/run/netns/" + namespace(name)) and not os.geteuid():
        tool.run(["ip", "netns", "del", namespace(name)], what="ip netns del")
