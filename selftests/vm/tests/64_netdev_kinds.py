# SPDX-License-Identifier: GPL-2.0
"""RoCE over a bridge, macvlan, ipvlan, a VRF's member, without IPv6, and a bond that fails over under load.

    init namespace                       namespace n1, in guest a
    veth0 10.88.0.1, nsa  -------------- veth1 10.88.0.2, nsb
    veth2                 -------------- veth3                  (the bond's second member)
"""

import re

from vmtest import netns
from vmtest.lab import LINK

LIMIT = 300

_CASES = "-m rc/write -m rc/read -m rc/send -m ud/send"


def _clean_up(t):
    t.run(t.a, "pkill -9 vverify; ip link del bond0; ip link del br0; ip link del over0; "
               "ip link del vrf0; ip link del veth2; " + netns.DOWN)


def _set_up(t):
    _clean_up(t)
    t.run(t.a, netns.UP, check=True)


def _make(t, what, script):
    """Run a script that makes netdevs. False: the kernel has no such kind, which is a skip."""
    result = t.run(t.a, "set -e\n" + script, 30)
    if result.rc and re.search(r"not supported|Unknown device type|Module \S+ not found", result.err):
        t.skip(what, "this kernel has none: " + result.err.strip())
    elif result.rc:
        t.case(what + ": netdevs are made", False, result.err)
    return not result.rc


def _add_links(t, netdev, far="veth1"):
    """nsa on the netdev, nsb in the namespace. Wait for the GIDs of both."""
    kind = LINK["tern"][1]
    t.run(t.a, "rdma link add nsa type %s netdev %s; ip netns exec n1 rdma link add nsb type %s netdev %s"
          % (kind, netdev, kind, far), check=True)
    t.a.wait_until(netns.links_up(kind), timeout=10)


def _verify(t, netdev, prefix, versions=(2, 1)):
    for version in versions:
        netns.verify(t, "-n %s -r %d %s %s" % (netdev, version, _CASES, netns.FAR),
                     "RoCEv%d %s" % (version, prefix))


def _check_over(t, what, netdev, script, versions=(2, 1)):
    """The netdev, which the script makes, has veth0's address."""
    _set_up(t)
    if not _make(t, what, "ip addr flush dev veth0\n" + script +
                 "\nip addr replace 10.88.0.1/24 dev %s; ip link set %s up" % (netdev, netdev)):
        return
    _add_links(t, netdev)
    _verify(t, netdev, "over %s: " % what, versions)


def _check_vrf(t):
    """The link's netdev is in a VRF. The test's own connection goes beside it."""
    _set_up(t)
    if not _make(t, "VRF", """ip link add vrf0 type vrf table 100; ip link set vrf0 up
        ip link set veth0 master vrf0
        ip link add veth2 type veth peer name veth3 netns n1
        ip addr add 10.89.0.1/24 dev veth2; ip link set veth2 up
        ip netns exec n1 ip addr add 10.89.0.2/24 dev veth3
        ip netns exec n1 ip link set veth3 up"""):
        return
    _add_links(t, "veth0")
    # Linux gives packets that come by a VRF to no socket outside it.
    accept = "sysctl -qw net.ipv4.udp_l3mdev_accept="
    t.run(t.a, accept + "1", check=True)
    netns.verify(t, "-n veth0 %s 10.89.0.2" % _CASES, "from a VRF: ", "-d nsb -n veth1")
    t.run(t.a, accept + "0", check=True)


def _check_without_ipv6(t):
    _set_up(t)
    t.run(t.a, "sysctl -qw net.ipv6.conf.veth0.disable_ipv6=1; "
               "ip netns exec n1 sysctl -qw net.ipv6.conf.all.disable_ipv6=1", check=True)
    _add_links(t, "veth0")
    _verify(t, "veth0", "without IPv6: ")


def _check_failover(t, version):
    """The members take turns, by command and by losing their carrier, while QPs send."""
    _set_up(t)
    if not _make(t, "bond", """modprobe bonding max_bonds=0
        ip link add veth2 type veth peer name veth3 netns n1
        ip link add bond0 type bond mode active-backup miimon 20
        ip addr flush dev veth0
        for member in veth0 veth2; do ip link set $member down; ip link set $member master bond0; done
        ip link set bond0 up; ip addr add 10.88.0.1/24 dev bond0
        ip netns exec n1 sh -ec '
            ip addr flush dev veth1; ip link add br1 type bridge
            for port in veth1 veth3; do ip link set $port master br1; ip link set $port up; done
            ip link set br1 up; ip addr add 10.88.0.2/24 dev br1'"""):
        return
    _add_links(t, "bond0", "br1")
    server, client = netns.start_pair(t, "-n bond0 -r %d -m scale/mixed -S %d -t 60 %s"
                                      % (version, 6 * t.slow, netns.FAR))
    t.sleep(1)
    active = set()
    for member in ("veth2", "veth0"):
        t.run(t.a, "ip link set bond0 type bond active_slave " + member, check=True)
        t.sleep(1)
    for far in ("veth1", "veth3"):
        t.run(t.a, "ip -n n1 link set %s down; sleep 0.5" % far, check=True)
        active.add(t.run(t.a, "cat /sys/class/net/bond0/bonding/active_slave").out.strip())
        t.run(t.a, "ip -n n1 link set %s up; sleep 0.5" % far, check=True)
    t.case("both members of the bond were active", active == {"veth0", "veth2"}, str(active))
    result = client.wait()
    t.finish(server)
    t.take_tap(result, "RoCEv%d while a bond fails over: " % version)


def run(t):
    if not t.is_tern:
        t.skip("netdevs", "rxe of 6.1 works in the first namespace only")
        return
    t.undo = [lambda: _clean_up(t)]
    _check_over(t, "bridge", "br0", "ip link add br0 type bridge; ip link set veth0 master br0")
    _check_over(t, "macvlan", "over0", "ip link add over0 link veth0 type macvlan mode bridge")
    # It shares veth0's MAC, and gets IP only.
    _check_over(t, "ipvlan", "over0", "ip link add over0 link veth0 type ipvlan mode l2", (2,))
    _check_vrf(t)
    _check_without_ipv6(t)
    for version in (2, 1):
        _check_failover(t, version)
