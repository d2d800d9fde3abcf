# SPDX-License-Identifier: GPL-2.0
"""Links deleted, modules removed, the netdev taken down, all under load."""

from vmtest.lab import LINK, MODULE

LIMIT = 300


def _under_load(t, name, act):
    """Traffic, then `act` on guest a, then both processes must end."""
    server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 90)
    t.sleep(3)
    act()
    t.case(name + ": the client ends", t.finish(client, 40))
    t.case(name + ": the server ends", t.finish(server, 60))


def _delete_link(t):
    device = t.dev(t.a)
    t.check_run("rdma link delete under load", t.a, "rdma link delete " + device, 30)
    t.case("the link is gone", t.dev(t.a) is None)


def _remove_module(t):
    module = MODULE[t.lab.driver_of(t.pair, "a")]
    result = t.run(t.a, "rmmod " + module, 30)
    # Users may hold the module; then it must say so and stay whole.
    t.case("module removal under load succeeds or says that it is in use",
           result.rc == 0 or "in use" in result.err, result.err)


def _down_up(t):
    t.run(t.a, "ip link set eth0 down; sleep 0.4; ip link set eth0 up; "
               "ip addr add fd77::%d/64 dev eth0 nodad 2>/dev/null; true" % t.a.index)


def run(t):
    link, kind = LINK[t.lab.driver_of(t.pair, "a")]
    _under_load(t, "link delete", lambda: _delete_link(t))
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after link delete: ")

    _under_load(t, "module removal", lambda: _remove_module(t))
    t.run(t.a, "pkill -9 vverify; true")
    t.lab.unload(t.a, t.lab.driver_of(t.pair, "a"))
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after module removal: ")

    server, client = t.tool_start("vverify", "-m scale/mixed -S 6 -t 20", 90)
    t.sleep(2)
    _down_up(t)
    t.case("netdev down and up: traffic ends", t.finish(client, 60) and t.finish(server, 60))
    t.lab.wait_gids(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after down and up: ")

    # Adding and deleting in a loop, from two sides at once.
    t.run(t.a, "rdma link delete " + (t.dev(t.a) or link), check=True)
    loop = ("for i in $(seq 15); do rdma link add %(name)s type %(kind)s netdev eth0 2>/dev/null; "
            "rdma link delete %(name)s 2>/dev/null; done; true")
    both = [t.start(t.a, loop % {"name": link + str(i), "kind": kind}, 90) for i in (1, 2)]
    t.case("links come and go in two loops", all(c.wait().rc == 0 for c in both))
    t.run(t.a, "for l in $(rdma link | sed -n 's|^link \\([^/]*\\)/.*|\\1|p'); do "
               "rdma link delete $l; done; true")
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after the loops: ")
