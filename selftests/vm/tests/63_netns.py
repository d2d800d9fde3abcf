# SPDX-License-Identifier: GPL-2.0
"""Network namespaces, VLANs, bonds, netdevs that are deleted: all in one guest, over veth.

    init namespace         namespace n1
    veth0 10.88.0.1 ------ veth1 10.88.0.2
"""

from vmtest import netns
from vmtest.lab import LINK

LIMIT = 240
_LOAD = "-n veth0 -m scale/mixed -S 60 -t 5 10.88.0.2"


def _clean_up(t):
    t.run(t.a, "pkill -9 vverify; ip link del bond0; " + netns.DOWN)


def _wait_gids(t, device, netdev, count, limit=10):
    t.a.wait_until("[ $(grep -lx %s /sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/* "
                   "2>/dev/null | wc -l) -ge %d ]" % (netdev, device, count), timeout=limit)


def _check_traffic(t, kind):
    netns.add_links(t, kind)
    netns.verify(t, "-n veth0 -m 'rc/*' -m 'ud/*' 10.88.0.2", "between namespaces: ")


def _check_namespace_end(t):
    server, client = netns.start_pair(t, _LOAD)
    t.sleep(3)
    t.run(t.a, "ip netns del n1")
    # The process inside keeps the namespace alive. All ends with it.
    t.kill(server)
    t.case("the client ends with the namespace", t.finish(client, 40))
    t.a.wait_until("! rdma link | grep -Eq ' (nsa|nsb)/| veth'", timeout=20)
    t.case("the links end with their netdevs", True)


def _check_netdev_end(t, kind):
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, kind)
    server, client = netns.start_pair(t, _LOAD)
    t.sleep(3)
    t.check_run("the netdev is deleted under load", t.a, "ip link del veth0", 30)
    t.case("the client ends", t.finish(client, 40))
    t.case("the server ends", t.finish(server, 60))
    t.case("the links are gone", "ns" not in " ".join(l["ifname"] for l in t.lab.links(t.a)))


def _check_vlan(t, kind):
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, kind)
    t.run(t.a, """set -e
        ip link add link veth0 name veth0.5 type vlan id 5
        ip netns exec n1 ip link add link veth1 name veth1.5 type vlan id 5
        ip addr add 10.89.0.1/24 dev veth0.5; ip link set veth0.5 up
        ip netns exec n1 ip addr add 10.89.0.2/24 dev veth1.5
        ip netns exec n1 ip link set veth1.5 up""", check=True)
    _wait_gids(t, "nsa", "veth0.5", 1)
    t.case("a VLAN's addresses are GIDs of the lower netdev's device", True)
    dump = t.start(t.a, "tcpdump -i veth0 -c 20 -nn vlan 5 and udp port 4791", 60)
    dump.wait_for("listening on", 20)
    netns.verify(t, "-n veth0.5 -m rc/write -m ud/send 10.89.0.2", "over VLAN: ", "-d nsb -n veth1.5")
    t.case("the packets carry the VLAN's tag", t.finish(dump, 5) and dump.wait().rc == 0,
           dump.output()[-500:])


def _check_bond(t, kind):
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, kind)
    result = t.run(t.a, """set -e; modprobe bonding max_bonds=0
        ip link add bond0 type bond mode active-backup miimon 100
        ip addr flush dev veth0; ip link set veth0 down; ip link set veth0 master bond0
        ip link set bond0 up; ip addr add 10.88.0.1/24 dev bond0""", 30)
    if result.rc:
        t.skip("bond", "this kernel has no bonding: " + result.err.strip())
        return
    _wait_gids(t, "nsa", "bond0", 1)
    t.case("a bond's addresses are GIDs of its active member's device", True)
    netns.verify(t, "-n bond0 -m rc/write -m ud/send 10.88.0.2", "over bond: ")


def run(t):
    if not t.is_tern:
        t.skip("namespaces", "rxe of 6.1 works in the first namespace only")
        return
    kind = LINK["tern"][1]
    t.undo = [lambda: _clean_up(t)]
    t.run(t.a, netns.UP, check=True)
    _check_traffic(t, kind)
    _check_namespace_end(t)
    _check_netdev_end(t, kind)
    _clean_up(t)
    _check_vlan(t, kind)
    _clean_up(t)
    _check_bond(t, kind)
