# SPDX-License-Identifier: GPL-2.0
"""GRO merges only packets with the same TTL, TOS and DF, so a filter sees each value that differs.

A veth pair in one guest (vmtest/netns.py): vgro.py sends packets, and a sniffer in n1 looks at them.
"""

from vmtest import netns

LIMIT = 150
# GRO merges packets that arrive within a tick of the kernel's clock.
_TRIES = 20


def _send_and_sniff(t, family, field):
    """Send 32 packets; returns how many vgro.py's sniffer saw, and the field of each."""
    out = t.run(t.a, "python3 /tern/vgro.py veth0 n1 veth1 %d %s" % (family, field), 40,
                check=True).out.split()
    return int(out[0]), out[1:]


def run(t):
    if not t.is_tern:
        t.skip("GRO", "only tern uses it")
        return
    t.undo = [lambda: t.run(t.a, netns.DOWN)]
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, "tern_roce")
    # veth uses GRO only if packets may be forwarded. GRO keeps packets for up to 20 ms.
    t.run(t.a, "set -e\n"
               "ethtool -K veth0 gro on rx-udp-gro-forwarding on\n"
               "ip netns exec n1 ethtool -K veth1 gro on rx-udp-gro-forwarding on\n"
               "ip netns exec n1 sh -c 'echo 20000000 >/sys/class/net/veth1/gro_flush_timeout'",
          check=True)
    for family, fields in ((4, ("ttl", "tos", "df")), (6, ("hops", "class"))):
        for _ in range(_TRIES):
            count, _ = _send_and_sniff(t, family, "none")
            if count < 32:
                break
        t.case("ipv%d: packets that are alike are merged" % family, count < 32,
               "32 came as %d" % count)
        for field in fields:
            count, values = _send_and_sniff(t, family, field)
            t.case("ipv%d: packets with another %s are not merged" % (family, field),
                   count == 32 and len(set(values[::2])) == 1 and len(set(values[1::2])) == 1 and
                   values[0] != values[1], "32 came as %d: %s" % (count, " ".join(values)))
