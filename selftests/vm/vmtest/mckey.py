# SPDX-License-Identifier: GPL-2.0
"""librdmacm's mckey: datagrams from a to a group that b has joined."""

_GROUP = "239.77.0.1"
# The host has joined once its netdev has the end of the group's MAC address. Then mckey's client
# joins, and waits for 3 s before it sends.
_JOINED = "ip maddr show dev eth0 | grep -q :4d:00:01"


def check(t, name):
    """A case: they come."""
    command = "timeout %d mckey -m %s -C 5 -b " % (25 * t.slow, _GROUP)
    t.pair_case(name, command + t.b.address, command + t.a.address + " -s", ready=_JOINED)
