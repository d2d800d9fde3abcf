# SPDX-License-Identifier: GPL-2.0
"""Network namespaces, VLANs, bonds, netdevs that vanish: all in one guest, over veth.

    init namespace         namespace n1
    veth0 10.88.0.1 ------ veth1 10.88.0.2
"""

from vmtest import netns
from vmtest.lab import LINK

LIMIT = 240


def _down(t):
    t.run(t.a, "pkill -9 vverify; ip link del bond0; " + netns.DOWN)


def _gids_named(t, device, netdev, count, limit=10):
    t.a.wait_until("[ $(grep -lx %s /sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/* "
                   "2>/dev/null | wc -l) -ge %d ]" % (netdev, device, count), timeout=limit)


def _links(t, kind):
    """A link on each end of the veth pair, the far one made inside its namespace."""
    t.run(t.a, netns.links(kind), check=True)
    t.a.wait_until(netns.links_up(kind), timeout=10)


def _start_pair(t, what):
    server = t.start(t.a, "ip netns exec n1 /tern/vverify -d nsb", 100)
    t.sleep(1.5)
    client = t.start(t.a, "/tern/vverify -n veth0 %s 10.88.0.2" % what, 100)
    return server, client


def _across(t, kind):
    _links(t, kind)
    server, client = _start_pair(t, "-m 'rc/*' -m 'ud/*'")
    t.take_tap(client.wait(), prefix="between namespaces: ")
    t.finish(server)


def _namespace_goes(t):
    server, client = _start_pair(t, "-m scale/mixed -S 60 -t 5")
    t.sleep(3)
    t.run(t.a, "ip netns del n1")
    # A process inside keeps the namespace; with it everything goes at once.
    server.kill(9)
    server.wait(timeout=30)
    t.case("the client ends when the namespace goes", t.finish(client, 40))
    t.a.wait_until("! rdma link | grep -Eq ' (nsa|nsb)/| veth'", timeout=20)
    t.case("the links went with their netdevs", True)


def _netdev_goes(t, kind):
    t.run(t.a, netns.UP, check=True)
    _links(t, kind)
    server, client = _start_pair(t, "-m scale/mixed -S 60 -t 5")
    t.sleep(3)
    t.check_run("a netdev is deleted under load", t.a, "ip link del veth0", 30)
    t.case("the client ends", t.finish(client, 40))
    t.case("the server ends", t.finish(server, 60))
    t.case("the links are gone", "ns" not in " ".join(l["ifname"] for l in t.lab.links(t.a)))


def _vlan(t, kind):
    t.run(t.a, netns.UP, check=True)
    _links(t, kind)
    t.run(t.a, """set -e
        ip link add link veth0 name veth0.5 type vlan id 5
        ip netns exec n1 ip link add link veth1 name veth1.5 type vlan id 5
        ip addr add 10.89.0.1/24 dev veth0.5; ip link set veth0.5 up
        ip netns exec n1 ip addr add 10.89.0.2/24 dev veth1.5
        ip netns exec n1 ip link set veth1.5 up""", check=True)
    _gids_named(t, "nsa", "veth0.5", 1)
    t.case("a VLAN's addresses are GIDs of the device below", True)
    server = t.start(t.a, "ip netns exec n1 /tern/vverify -n veth1.5", 60)
    t.sleep(1.5)
    dump = t.start(t.a, "tcpdump -i veth0 -c 20 -nn vlan 5 and udp port 4791", 30)
    t.sleep(1)
    client = t.start(t.a, "/tern/vverify -n veth0.5 -m rc/write -m ud/send 10.89.0.2", 60)
    t.take_tap(client.wait(), prefix="over VLAN: ")
    t.finish(server)
    t.case("the packets carry the VLAN's tag", t.finish(dump, 5) and dump.wait().rc == 0,
           dump.output()[-500:])


def _bond(t, kind):
    t.run(t.a, netns.UP, check=True)
    _links(t, kind)
    result = t.run(t.a, """set -e; modprobe bonding max_bonds=0
        ip link add bond0 type bond mode active-backup miimon 100
        ip addr flush dev veth0; ip link set veth0 down; ip link set veth0 master bond0
        ip link set bond0 up; ip addr add 10.88.0.1/24 dev bond0""", 30)
    if result.rc:
        t.skip("bond", "no bonding here: " + result.err.strip())
        return
    _gids_named(t, "nsa", "bond0", 1)
    t.case("a bond's addresses are GIDs of its active member", True)
    server = t.start(t.a, "ip netns exec n1 /tern/vverify -d nsb", 60)
    t.sleep(1.5)
    client = t.start(t.a, "/tern/vverify -n bond0 -m rc/write -m ud/send 10.88.0.2", 60)
    t.take_tap(client.wait(), prefix="over bond: ")
    t.finish(server)


def run(t):
    if not t.is_tern:
        t.skip("namespaces", "rxe of 6.1 serves the first namespace only")
        return
    kind = LINK["tern"][1]
    t.undo = [lambda: _down(t)]
    t.run(t.a, netns.UP, check=True)
    _across(t, kind)
    _namespace_goes(t)
    _netdev_goes(t, kind)
    _down(t)
    _vlan(t, kind)
    _down(t)
    _bond(t, kind)
