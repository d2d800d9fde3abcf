# SPDX-License-Identifier: GPL-2.0
"""netem on a netdev of a guest: delay, loss, duplicates, reordering, corruption."""


def _in_netns(netns, command):
    return "ip netns exec %s %s" % (netns, command) if netns else command


def add(t, guest, settings, netdev="eth0", netns=None):
    """Put netem on the netdev, in the place of its queueing discipline."""
    t.run(guest, "modprobe sch_netem; " + _in_netns(
        netns, "tc qdisc replace dev %s root netem %s" % (netdev, settings)), check=True)


def remove(t, guest, netdev="eth0", netns=None):
    """Take it away, if it is there."""
    t.run(guest, _in_netns(netns, "tc qdisc del dev %s root 2>/dev/null; true" % netdev))
