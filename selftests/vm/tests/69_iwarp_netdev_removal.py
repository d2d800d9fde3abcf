# SPDX-License-Identifier: GPL-2.0
"""iWARP: a link's netdev is deleted under load, and a network namespace with links.

    init namespace         namespace n1, in guest a
    veth0 10.88.0.1 ------ veth1 10.88.0.2
"""

from vmtest import netns

PAIRS = ("iwarp-iwarp",)
LONG = True
LIMIT = 240

_LOAD = "-m scale/mixed -S 60 -t 5"


def _add_macvlan(t, guest):
    """A netdev with its own MAC, by which rdma_cm finds the link."""
    t.run(guest, "ip link add mv0 link eth0 type macvlan mode bridge; "
                 "ip addr add 10.89.0.%d/24 dev mv0; ip link set mv0 up; "
                 "rdma link add on_mv0 type tern_iwarp netdev mv0" % guest.index, check=True)


def _wait_gone(t, guest, device):
    guest.wait_until("! rdma link | grep -q '%s/'" % device, timeout=20)
    t.case("guest %s: the link and all its objects are gone" % guest.name,
           not t.lab.leaks(guest), t.lab.leaks(guest, 0))


def _check_netdev_end(t, guest):
    for each in t.guests:
        _add_macvlan(t, each)
    server, client = t.tool_start("vverify", _LOAD, 90, netdev="mv0",
                                  host="10.89.0.%d" % t.b.index)
    t.sleep(3)
    t.case("traffic runs", server.running and client.running, client.output()[-800:])
    t.check_run("guest %s: the netdev is deleted under load" % guest.name, guest,
                "ip link del mv0", 30)
    t.case("the client ends", t.finish(client, 40))
    t.case("the server ends", t.finish(server, 60))
    _wait_gone(t, guest, "on_mv0")
    for each in t.guests:
        t.run(each, "ip link del mv0 2>/dev/null; true")
        each.wait_until("! rdma link | grep -q on_mv0", timeout=10)


def _check_namespace_end(t):
    t.run(t.a, netns.UP + netns.links("tern_iwarp"), check=True)
    server, client = netns.start_pair(t, "-n veth0 %s 10.88.0.2" % _LOAD)
    t.sleep(3)
    t.case("traffic runs between namespaces", server.running and client.running,
           client.output()[-800:])
    # The process inside keeps the namespace alive. All ends with it.
    t.run(t.a, "ip netns del n1", check=True)
    t.kill(server)
    t.case("the client ends with the namespace", t.finish(client, 40))
    for device in ("nsa", "nsb"):
        _wait_gone(t, t.a, device)


def _clean_up(t):
    t.run(t.a, netns.DOWN)
    for guest in t.guests:
        t.run(guest, "ip link del mv0 2>/dev/null; true")


def run(t):
    t.undo = [lambda: _clean_up(t)]
    for guest in t.guests:
        _check_netdev_end(t, guest)
    _check_namespace_end(t)
    for guest in t.guests:
        t.check_run("guest %s: rmmod" % guest.name, guest, "rmmod tern", 30)
        t.lab.add_link(guest, "iwarp")
