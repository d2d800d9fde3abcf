# SPDX-License-Identifier: GPL-2.0
"""Frames of RoCEv1 that are wrong in one way: none reaches a QP, and each is counted if it can be."""

LIMIT = 200
_PACKETS = 16
# A frame that does not say for which GID it is, or is for another MAC, is not counted.
_NOWHERE = None
# The kinds of vforge.py, and the counter of each.
_KINDS = {
    "right": "rx_no_qp",
    "padded": "rx_no_qp",
    "version 4": "rx_malformed",
    "version 7": "rx_malformed",
    "another next header": "rx_malformed",
    "a wrong ICRC": "rx_icrc_encapsulated",
    "no length": "rx_malformed",
    "a length below BTH and ICRC": "rx_malformed",
    "a length beyond the frame": "rx_malformed",
    "the longest length": "rx_malformed",
    "a GRH alone": "rx_malformed",
    "half a GRH": _NOWHERE,
    "no byte": _NOWHERE,
    "the receiver's GID as its source": "rx_bad_path",
}
# With GIDs that are IPv6 addresses. What is wrong elsewhere is so with any.
_OF_IPV6 = ("right", "the receiver's GID as its source")
# Not for us, by Ethernet. The last two are to all, and to a group that a GID of a port is not.
_MACS = ("02:00:00:00:77:99", "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01")
_DROPS = ("rx_no_qp", "rx_malformed", "rx_icrc_encapsulated", "rx_bad_path")


def _send(t, mac, source, target, kind):
    """Send frames of a kind from a; returns the counters of b that grew."""
    before = t.counters(t.b)
    t.run(t.a, ["python3", "/tern/vforge.py", "frames", "eth0", mac, source, target, kind],
          check=True)
    t.sleep(0.3)
    moved = t.counted_since(t.b, before)
    return {name: moved[name] for name in _DROPS + ("rx_packets",) if moved[name]}


def run(t):
    mac = t.run(t.b, "cat /sys/class/net/eth0/address", check=True).out.strip()
    for source, target, kinds in ((t.a.address, t.b.address, _KINDS),
                                  (t.a.address6, t.b.address6, _OF_IPV6)):
        for kind in kinds:
            counter = _KINDS[kind]
            wanted = {counter: _PACKETS} if counter else {}
            if counter == "rx_no_qp":
                wanted["rx_packets"] = _PACKETS
            moved = _send(t, mac, source, target, kind)
            t.case("%s: %s" % (target, kind), moved == wanted, "%s, wanted %s" % (moved, wanted))
    for other in _MACS:
        moved = _send(t, other, t.a.address, t.b.address, "right")
        t.case("to MAC %s" % other, not moved, moved)
    moved = _send(t, mac, t.a.address, "192.0.2.77", "right")
    t.case("to a GID that is not here", not moved, moved)
    t.tool("vverify", "-r 1 -m rc/write -m ud/send", timeout=60, prefix="afterwards: ")
