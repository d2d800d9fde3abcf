# SPDX-License-Identifier: GPL-2.0
"""UDP GSO: a batch is one UDP packet, which the sender's or receiver's stack may segment.

A veth pair in one guest without tx-gso-list, so that a batch is one UDP packet and no list of packets:

    init namespace         namespace n1
    veth0 10.88.0.1 ------ veth1 10.88.0.2
"""

from vmtest import netns, wire
from vmtest.capture import Capture

LIMIT = 240
_NET = "/sys/class/net/veth0/statistics/tx_packets"
_TERN = "/sys/class/infiniband/nsa/ports/1/hw_counters/tx_packets"
_TAKEN = "ip netns exec n1 awk '/^Udp: [0-9]/{print $2}' /proc/net/snmp"


def _clean_up(t):
    t.run(t.a, "pkill -9 vverify; " + netns.DOWN)


def _read_counters(t):
    """Packets so far: sent by tern, sent by veth0, received by UDP at the other end."""
    out = t.run(t.a, "cat %s %s; %s" % (_TERN, _NET, _TAKEN), check=True).out
    return [int(word) for word in out.split()]


def _run_verify(t, what, there="10.88.0.2", prefix=""):
    netns.verify(t, "-n veth0 %s %s" % (what, there), prefix)


def _set_gro(t, on):
    word = "on" if on else "off"
    # veth uses GRO only if packets may be forwarded.
    t.run(t.a, "{0} -K veth0 gro {1} rx-udp-gro-forwarding {1} && "
               "ip netns exec n1 {0} -K veth1 gro {1} rx-udp-gro-forwarding {1}"
          .format("ethtool", word), check=True)


def _count_verify(t, what, **more):
    before = _read_counters(t)
    _run_verify(t, what, **more)
    return [now - then for now, then in zip(_read_counters(t), before)]


def _check_receiver_segments(t):
    _set_gro(t, False)
    sent, left, taken = _count_verify(t, "-m 'rc/*' -m 'uc/*' -m 'ud/*'",
                                      prefix="segmented at the socket: ")
    t.case("batches left unsegmented, and the receiver's stack segmented them at the socket",
           left < sent * 0.6 and taken > sent * 0.8, "%d packets, %d sent, %d received"
           % (sent, left, taken))


def _check_unsegmented(t):
    _set_gro(t, True)
    for there, name in (("10.88.0.2", "ipv4"), ("fd88::2", "ipv6")):
        # Large messages, which are batches, go one way.
        what = "-m 'rc/*' -m 'uc/*'" if name == "ipv4" else "-f 6 -m 'rc/*/both-ways' -m 'ud/*'"
        sent, left, taken = _count_verify(t, what, there=there, prefix="unsegmented, %s: " % name)
        if name == "ipv4":
            t.case("batches left and arrived unsegmented", left < sent * 0.6 and
                   taken < sent * 0.6, "%d packets, %d sent, %d received" % (sent, left, taken))


def _check_sender_segments(t):
    """A queueing discipline that takes single packets: the sender's stack segments."""
    # On a slow kernel packets stay in it long: it must not drop them for that.
    cake = "tc qdisc add dev veth%d root cake unlimited split-gso interplanetary"
    t.run(t.a, "%s && ip netns exec n1 %s" % (cake % 0, cake % 1), check=True)
    sent, left, taken = _count_verify(t, "-m 'rc/*/both-ways'", prefix="segmented by the sender: ")
    t.case("single packets left, and GRO merged them",
           sent * 0.9 < left and taken < sent * 0.8, "%d packets, %d sent, %d received"
           % (sent, left, taken))

    _set_gro(t, False)
    capture = Capture(t, t.a, "udp port %d" % wire.PORT, "veth1", "n1", timeout=100)
    _run_verify(t, "-m rc/write -m rc/read -m rc/send", prefix="captured: ")
    path = capture.stop("udp-gso-" + t.lab.device)
    # In the receiver's GRO packets with a checksum may overtake one without.
    without = t.run(t.a, "tcpdump -r %s -nn 'udp[6:2] = 0' 2>/dev/null | wc -l"
                    % capture.file, check=True).out.strip()
    t.case("every packet has a UDP checksum, also a QP's first ones", without == "0",
           "%s have none" % without)
    seen = wire.Summary(path)
    t.case("every ICRC is what zlib computes", seen.packets > 100 and not seen.wrong,
           "%d packets; %s" % (seen.packets, "\n".join(seen.wrong[:12])))


def run(t):
    if not t.is_tern:
        t.skip("UDP GSO", "only tern uses it")
        return
    t.undo = [lambda: _clean_up(t)]
    t.run(t.a, netns.UP, check=True)
    t.run(t.a, """set -e
        ethtool -K veth0 tx-gso-list off
        ip netns exec n1 ethtool -K veth1 tx-gso-list off
        """ + netns.links("tern_roce"), check=True)
    t.a.wait_until("[ $(grep -lx veth0 /sys/class/infiniband/nsa/ports/1/gid_attrs/ndevs/* "
                   "2>/dev/null | wc -l) -ge 3 ]", timeout=10)
    _check_receiver_segments(t)
    _check_unsegmented(t)
    _check_sender_segments(t)
