# SPDX-License-Identifier: GPL-2.0
"""The type of service of a connection decides the priority in the VLAN tag, by the egress map."""

import re

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 120

_TOS = 0x68  # AF31; Linux makes priority 2 of it
_MAP = "0:3 2:5"
_PORT = 7490
# tcpdump -e -v: what the tag, then the IP header says, and the sender.
_IPV4 = re.compile(r"vlan 7, p (\d), ethertype IPv4 .*\(tos 0x(\w+).*\n\s+10\.87\.0\.(\d)\.")
_IPV6 = re.compile(r"vlan 7, p (\d), ethertype IPv6 \(0x86dd\), "
                   r"\((?:class 0x(\w+), )?.*\) fd87::(\d)\.")


def _add_vlans(t):
    for guest in t.guests:
        i = guest.index
        # Before Linux 6.5 rdma_cm finds an iWARP link by the MAC, and of two it may take the other.
        t.run(guest, """set -e
            ip link add link eth0 name eth0.7 type vlan id 7 egress-qos-map {map}
            ip link set eth0.7 address 02:00:00:00:07:0{i} up
            ip addr add 10.87.0.{i}/24 dev eth0.7
            ip addr add fd87::{i}/64 dev eth0.7 nodad""".format(map=_MAP, i=i), check=True)
        if t.pair == "iwarp-iwarp":
            t.run(guest, "rdma link delete %s; rdma link add vlanw type tern_iwarp netdev eth0.7"
                  % t.dev(guest), check=True)
            guest.wait_until("rdma link | grep -q 'link vlanw/1 state ACTIVE'", timeout=10)
        else:
            for address in "10.87.0.%d" % i, "fd87::%d" % i:
                t.wait_gid(guest, address)


def _remove_vlans(t):
    for guest in t.guests:
        t.run(guest, "ip link del eth0.7 2>/dev/null; true")
        guest.wait_until("! rdma link | grep -q 'link vlanw/'", timeout=10)
        t.lab.add_link(guest, "iwarp" if t.pair == "iwarp-iwarp" else None)


def _tagged(t, run):
    """Call run(); returns {guest's index: {(TOS, priority)}} of what both have sent."""
    what = "tcp port 7471 or tcp port %d" % _PORT if t.pair == "iwarp-iwarp" else "udp port 4791"
    dump = t.start(t.b, "tcpdump -e -v -l -nn -i eth0 'vlan 7 and (%s)'" % what, 90)
    dump.wait_for("listening on", 20)
    run()
    t.sleep(1.5)
    dump.kill(2)
    dump.wait(timeout=30)
    sent = {guest.index: set() for guest in t.guests}
    for found in (_IPV4, _IPV6):
        for priority, tos, sender in found.findall(dump.output()):
            # Without the two bits of ECN, which congestion control decides.
            sent[int(sender)].add((int(tos or "0", 16) & ~3, int(priority)))
    return sent


def _check(t, name, run, here, there):
    """here, there: what guests a and b are to send: (TOS, priority)."""
    sent = _tagged(t, run)
    # TCP answers what comes after a connection without its socket, and its priority.
    late = {(_TOS, 3)} if t.pair == "iwarp-iwarp" else set()
    t.case(name, {here} == sent[t.a.index] - late and {there} == sent[t.b.index] - late, sent)


def _connect(t, name, options, address):
    command = "ucmatose -c 1 -C 5 -S 2000"
    t.pair_case(name, "%s -b %s" % (command, address),
                "%s %s -s %s" % (command, options, address), port="cm")


def _listener(t):
    server = t.start(t.b, "/tern/vcm accept-tos %d" % _TOS, 60)
    t.wait_cm_listen(t.b)
    t.check_run("a client connects to it", t.a, "/tern/vcm connect 10.87.0.%d 0" % t.b.index)
    t.finish(server)


def _by_level(t):
    """Without rdma_cm a program says the service level itself."""
    command = "ib_send_bw -F -n 20 -s 512 -S 2 -x %d -d "
    here, there = (command % t.gid_index(guest, "10.87.0.%d" % guest.index) + t.dev(guest)
                   for guest in t.guests)
    t.pair_case("a QP with a service level", there, "%s %s" % (here, t.b.address), port=18515)


def run(t):
    t.undo = [lambda: _remove_vlans(t)]
    _add_vlans(t)
    class_, none = (_TOS, 5), (0, 3)
    # A RoCE server answers as the client's request says; a TCP one goes by its own socket.
    answer = none if t.pair == "iwarp-iwarp" else class_
    for address in "10.87.0.%d" % t.b.index, "fd87::%d" % t.b.index:
        _check(t, "TOS by rdma_cm: %s" % address,
               lambda to=address: _connect(t, "a connection with TOS", "-t %d" % _TOS, to),
               class_, answer)
    _check(t, "no TOS", lambda: _connect(t, "a connection without", "", "10.87.0.%d" % t.b.index),
           none, none)
    if t.pair == "iwarp-iwarp":
        _check(t, "a listener's TOS", lambda: _listener(t), none, class_)
    else:
        _check(t, "a service level of its own", lambda: _by_level(t), (0, 5), (0, 5))
    t.undo_now()
