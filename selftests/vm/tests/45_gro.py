# SPDX-License-Identifier: GPL-2.0
"""GRO puts together what is alike: a filter sees the TTL, TOS and DF of each packet that differs.

A veth pair in one guest (vmtest/netns.py); vgro.py sends there what a sniffer in n1 looks at.
"""

from vmtest import netns

LIMIT = 150
# Packets are put together if they come within a tick of the kernel's clock.
_TRIES = 20


def _seen(t, family, field):
    """How many packets vgro.py's sniffer saw, and the field of each."""
    out = t.run(t.a, "python3 /tern/vgro.py veth0 n1 veth1 %d %s" % (family, field), 40,
                check=True).out.split()
    return int(out[0]), out[1:]


def run(t):
    if not t.is_tern:
        t.skip("GRO", "tern's alone")
        return
    t.undo = [lambda: t.run(t.a, netns.DOWN)]
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, "tern_roce")
    # veth gives to GRO what may be for forwarding only; what GRO holds stays there for a while.
    t.run(t.a, "set -e\n"
               "ethtool -K veth0 gro on rx-udp-gro-forwarding on\n"
               "ip netns exec n1 ethtool -K veth1 gro on rx-udp-gro-forwarding on\n"
               "ip netns exec n1 sh -c 'echo 20000000 >/sys/class/net/veth1/gro_flush_timeout'",
          check=True)
    for family, fields in ((4, ("ttl", "tos", "df")), (6, ("hops", "class"))):
        for _ in range(_TRIES):
            count, _ = _seen(t, family, "none")
            if count < 32:
                break
        t.case("ipv%d: packets that are alike come together" % family, count < 32,
               "32 came as %d" % count)
        for field in fields:
            count, values = _seen(t, family, field)
            t.case("ipv%d: those that differ in %s are seen one by one" % (family, field),
                   count == 32 and len(set(values[::2])) == 1 and len(set(values[1::2])) == 1 and
                   values[0] != values[1], "32 came as %d: %s" % (count, " ".join(values)))
