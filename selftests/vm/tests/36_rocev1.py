# SPDX-License-Identifier: GPL-2.0
"""RoCEv1 beside RoCEv2: GIDs of both, vverify's cases as frames, rdma_cm, VLANs, within a host."""

import re

from riglib.rping import rping
from vmtest import cm_roce, mckey, netns
from vmtest.lab import LINK

LIMIT = 400
# Groups of vverify that depend on how packets go.
OF_PACKETS = ("rc", "uc", "ud", "srq", "path")
QUICK = ("rc/write_imm", "rc/read", "rc/fetch_add", "rc/send/both-ways", "uc/send", "ud/send_imm",
         "ud/answer", "ud/group")
_FRAMES = "ether proto 0x8915"


def _count_frames(t, command, netdev="eth0"):
    """Call command(); how many frames of RoCEv1, and of packets of RoCEv2, guest a saw meanwhile."""
    dump = t.start(t.a, "timeout %d tcpdump -i %s -nn -s 64 -w /tmp/v1.pcap '%s or udp port 4791'; "
                        "for what in '%s' 'udp port 4791'; do "
                        "tcpdump -r /tmp/v1.pcap --count \"$what\" 2>/dev/null; done; "
                        "rm /tmp/v1.pcap"
                   % (400 * t.slow, netdev, _FRAMES, _FRAMES), 450)
    dump.wait_for("listening on", 20)
    command()
    t.run(t.a, "sleep 1; pkill -INT tcpdump", check=True)
    return [int(line.split()[0]) for line in dump.wait().out.splitlines()]


def _check_table(t, guest):
    """Each address has two GIDs: RoCEv1's, then RoCEv2's."""
    out = t.run(guest, """cd /sys/class/infiniband/%s/ports/1
        grep -v '^[0:]*$' gids/* /dev/null | sed 's|gids/||; s/:/ /' | sort -n |
        while read -r i gid; do echo "$gid $(cat gid_attrs/types/$i)"; done""" % t.dev(guest)).out
    types = {}
    for line in out.splitlines():
        gid, kind = line.split(None, 1)
        types.setdefault(gid, []).append(kind)
    t.case("%s: each address has a GID of RoCEv1 and then one of RoCEv2" % guest.name,
           types and all(kinds == [cm_roce.V1, cm_roce.V2] for kinds in types.values()), out)


def _check_between_hosts(t):
    # The test jumbo has the longer path MTUs.
    def verify():
        t.tool("vverify", "-r 1 -x path/mtu-2048 -x path/mtu-4096 " +
               " ".join("-m '%s/*'" % group for group in OF_PACKETS), timeout=250,
               prefix="v1/")

    frames, packets = _count_frames(t, verify)
    t.case("all went as frames", frames > 1000 and not packets, "%d and %d" % (frames, packets))
    t.tool("vverify", "-r 1 -f 6 " + " ".join("-m " + case for case in QUICK), timeout=120,
           prefix="v1/ipv6/")
    t.tool("verrors", "-r 1 -t 10 -m 'remote/*'", timeout=100, prefix="v1/")


def _check_jumbo(t):
    for guest in t.guests:
        t.run(guest, "ip link set eth0 mtu 4200", check=True)
    try:
        for guest in t.guests:
            guest.wait_until("ibv_devinfo -d %s | grep -q 'active_mtu:.*4096'" % t.dev(guest),
                             timeout=10)
        t.tool("vverify", "-r 1 -m 'path/mtu-*' -m ud/send", timeout=120, prefix="v1/jumbo/")
    finally:
        for guest in t.guests:
            t.run(guest, "ip link set eth0 mtu 1500")
    # A frame that the netdev has no room for is lost, and counted.
    server, client = t.tool_start("vverify", "-r 1 -m scale/mixed -S %d -t 30" % (4 * t.slow), 90)
    t.sleep(1)
    before = t.counter(t.a, "tx_dropped")
    t.run(t.a, "ip link set eth0 mtu 600; sleep 0.4", check=True)
    dropped = t.counter(t.a, "tx_dropped") - before
    t.run(t.a, "ip link set eth0 mtu 1500; ip addr replace %s/64 dev eth0 nodad" % t.a.address6,
          check=True)
    t.take_tap(client.wait(), "v1/mtu below the path's: ")
    t.finish(server)
    t.case("what did not fit was not sent", dropped, dropped)
    for guest in t.guests:
        t.lab.wait_gids(guest)


def _check_within_host(t):
    t.tool("vverify", "-r 1 " + " ".join("-m " + case for case in QUICK), timeout=120,
           prefix="v1/local/", at=t.a)
    switch = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    t.run(t.a, "echo N >" + switch, check=True)
    before = t.counter(t.a, "tx_packets")

    def verify():
        t.tool("vverify", "-r 1 " + " ".join("-m " + case for case in QUICK), timeout=120,
               prefix="v1/by lo: ", at=t.a)

    frames, packets = _count_frames(t, verify, "lo")
    t.run(t.a, "echo Y >" + switch, check=True)
    t.case("by lo: traffic went as frames", frames > 100 and not packets and
           t.counter(t.a, "tx_packets") - before > 100, "%d and %d" % (frames, packets))
    t.check_run("a local QP that names another QP's peer", t.a, "/tern/vspoof -n eth0 -r 1", 60)
    if t.run(t.a, "modprobe sch_plug").rc == 0:
        t.check_run("path switch with requests, then responses, in flight", t.a,
                    "/tern/vpathswitch -n eth0 -r 1; rc=$?; tc qdisc del dev lo root 2>/dev/null; "
                    "echo Y >%s; exit $rc" % switch, 60)


def _check_cm(t):
    if not t.case("rdma_cm can begin with RoCEv1", cm_roce.use(t, cm_roce.V1)):
        return
    host, host6 = t.b.address, t.b.address6

    def connect():
        for address in (host, host6):
            t.pair_case("v1/rping " + address, rping(20, "-s -a " + address),
                        rping(20, "-c -a " + address), port="cm")
        t.pair_case("v1/udaddy", "udaddy -c 2 -C 10 -S 512", "udaddy -c 2 -C 10 -S 512 -s " + host,
                    port="cm")
        mckey.check(t, "v1/mckey")

    try:
        frames, packets = _count_frames(t, connect)
    finally:
        t.case("and with RoCEv2 again", cm_roce.use(t, cm_roce.V2))
    t.case("rdma_cm's messages and what they lead to are frames", frames > 100 and not packets,
           "%d and %d" % (frames, packets))
    t.pair_case("v2/rping", rping(5, "-s -a " + host), rping(5, "-c -a " + host), port="cm")


def _check_vlan(t):
    """A VLAN on a veth pair: see vmtest/netns.py."""
    t.undo = [lambda: t.run(t.a, "pkill -9 vverify; " + netns.DOWN)]
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, LINK["tern"][1])
    netns.verify(t, "-n veth0 -r 1 -m rc/write -m 'ud/*' 10.88.0.2", "v1/between namespaces: ")
    t.run(t.a, """set -e
        ip link add link veth0 name veth0.5 type vlan id 5
        ip netns exec n1 ip link add link veth1 name veth1.5 type vlan id 5
        ip link set veth0.5 type vlan egress-qos-map 3:6
        ip addr add 10.89.0.1/24 dev veth0.5; ip link set veth0.5 up
        ip netns exec n1 ip addr add 10.89.0.2/24 dev veth1.5
        ip netns exec n1 ip link set veth1.5 up""", check=True)
    t.a.wait_until("[ $(grep -lx veth0.5 /sys/class/infiniband/nsa/ports/1/gid_attrs/ndevs/* "
                   "2>/dev/null | wc -l) -ge 2 ]", timeout=10)
    dump = t.start(t.a, "tcpdump -e -i veth0 -c 20 -nn vlan 5 and ether proto 0x8915", 60)
    dump.wait_for("listening on", 20)
    netns.verify(t, "-n veth0.5 -r 1 -m rc/write -m 'ud/*' -x ud/group 10.89.0.2", "v1/over VLAN: ",
                 "-d nsb -n veth1.5")
    t.case("frames carry the VLAN's tag", t.finish(dump, 5) and dump.wait().rc == 0 and
           re.search(r"vlan 5\b", dump.output()), dump.output()[-500:])
    t.undo_now()


def run(t):
    for guest in t.guests:
        _check_table(t, guest)
    _check_between_hosts(t)
    _check_jumbo(t)
    _check_within_host(t)
    _check_cm(t)
    _check_vlan(t)
