# SPDX-License-Identifier: GPL-2.0
"""Netdevs that cut UDP packets: batches as one packet, taken whole, cut at either end, numbered right.

A veth pair in one guest that says it knows no lists of packets, so that a batch is one UDP packet:

    init namespace         namespace n1
    veth0 10.88.0.1 ------ veth1 10.88.0.2
"""

from vmtest import netns, wire
from vmtest.capture import Capture

LIMIT = 240
_NET = "/sys/class/net/veth0/statistics/tx_packets"
_TERN = "/sys/class/infiniband/nsa/ports/1/hw_counters/tx_packets"
_TAKEN = "ip netns exec n1 awk '/^Udp: [0-9]/{print $2}' /proc/net/snmp"


def _down(t):
    t.run(t.a, "pkill -9 vverify; " + netns.DOWN)


def _counts(t):
    """So far: packets tern sent from veth0, what left there, what UDP took at the other end."""
    out = t.run(t.a, "cat %s %s; %s" % (_TERN, _NET, _TAKEN), check=True).out
    return [int(word) for word in out.split()]


def _verify(t, what, there="10.88.0.2", prefix=""):
    netns.verify(t, "-n veth0 %s %s" % (what, there), prefix)


def _gro(t, on):
    word = "on" if on else "off"
    # veth gives to GRO what may be for forwarding only.
    t.run(t.a, "{0} -K veth0 gro {1} rx-udp-gro-forwarding {1} && "
               "ip netns exec n1 {0} -K veth1 gro {1} rx-udp-gro-forwarding {1}"
          .format("ethtool", word), check=True)


def _moved(t, what, **more):
    before = _counts(t)
    _verify(t, what, **more)
    return [now - then for now, then in zip(_counts(t), before)]


def _cut_by_receiver(t):
    _gro(t, False)
    sent, left, taken = _moved(t, "-m 'rc/*' -m 'uc/*' -m 'ud/*'", prefix="cut at the socket: ")
    t.case("batches left whole, and the stack cut them at the socket",
           left < sent * 0.6 and taken > sent * 0.8, "%d packets, %d left, %d taken"
           % (sent, left, taken))


def _taken_whole(t):
    _gro(t, True)
    for there, name in (("10.88.0.2", "ipv4"), ("fd88::2", "ipv6")):
        what = "-m 'rc/*' -m 'uc/*' -m 'ud/*' -m 'rc/*/both-ways'"
        if there != "10.88.0.2":
            what += " -f 6"
        sent, left, taken = _moved(t, what, there=there, prefix="taken whole, %s: " % name)
        if name == "ipv4":
            t.case("batches left whole, and were taken so", left < sent * 0.6 and
                   taken < sent * 0.6, "%d packets, %d left, %d taken" % (sent, left, taken))


def _cut_by_sender(t):
    """A queueing discipline that takes packets one by one: the sender's stack cuts."""
    # On a slow kernel packets stay long: none is to be dropped for that.
    cake = "tc qdisc add dev veth%d root cake unlimited split-gso interplanetary"
    t.run(t.a, "%s && ip netns exec n1 %s" % (cake % 0, cake % 1), check=True)
    sent, left, taken = _moved(t, "-m 'rc/*'", prefix="cut by the sender: ")
    t.case("each packet left alone, and GRO put them together",
           sent * 0.9 < left and taken < sent * 0.8, "%d packets, %d left, %d taken"
           % (sent, left, taken))

    _gro(t, False)
    capture = Capture(t, t.a, "udp port %d" % wire.PORT, "veth1", "n1", timeout=100)
    _verify(t, "-m rc/write -m rc/read -m rc/send", prefix="captured: ")
    path = capture.stop("udp-gso-" + t.lab.device)
    # A packet without among those that have one may be passed by them in the receiver's GRO.
    without = t.run(t.a, "tcpdump -r %s -nn 'udp[6:2] = 0' 2>/dev/null | wc -l"
                    % capture.file, check=True).out.strip()
    t.case("every packet has a UDP checksum, a QP's first ones too", without == "0",
           "%s have none" % without)
    seen = wire.Summary(path)
    t.case("every ICRC is what zlib makes of the packet", seen.packets > 100 and not seen.wrong,
           "%d packets; %s" % (seen.packets, "\n".join(seen.wrong[:12])))


def run(t):
    if not t.is_tern:
        t.skip("netdevs that cut", "tern's alone")
        return
    t.undo = [lambda: _down(t)]
    t.run(t.a, netns.UP, check=True)
    t.run(t.a, """set -e
        ethtool -K veth0 tx-gso-list off
        ip netns exec n1 ethtool -K veth1 tx-gso-list off
        """ + netns.links("tern_roce"), check=True)
    t.a.wait_until("[ $(grep -lx veth0 /sys/class/infiniband/nsa/ports/1/gid_attrs/ndevs/* "
                   "2>/dev/null | wc -l) -ge 3 ]", timeout=10)
    _cut_by_receiver(t)
    _taken_whole(t)
    _cut_by_sender(t)
