# SPDX-License-Identifier: GPL-2.0
"""The link is deleted and the netdev goes down under load; rmmod waits until the module is unused."""

from vmtest.lab import LINK, MODULE

LIMIT = 400


def _check_under_load(t, name, act):
    """Start traffic, call act(), then both processes must end."""
    server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 90)
    t.sleep(3)
    act()
    t.case(name + ": the client ends", t.finish(client, 40))
    t.case(name + ": the server ends", t.finish(server, 60))


def _delete_link(t):
    device = t.dev(t.a)
    t.check_run("rdma link delete under load", t.a, "rdma link delete " + device, 30)
    t.case("the link is gone", t.dev(t.a) is None)


def _check_in_use(t, name):
    result = t.run(t.a, "rmmod " + MODULE[t.lab.driver_of(t.pair, "a")], 30)
    t.case(name, result.rc != 0 and "in use" in result.err, result.err)


def _check_module_under_load(t):
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t 20" % (6 * t.slow), 90)
    t.sleep(3)
    _check_in_use(t, "the module is in use under load")
    t.case("traffic goes on", t.finish(client, 60) and t.finish(server, 60) and
           client.wait().rc == 0)


def _check_module_after_link(t):
    """A program that keeps a deleted link's device open keeps the module, until the program ends."""
    program = t.start(t.a, "ibv_rc_pingpong -d %s -g 0" % t.dev(t.a), 60)
    t.wait_port(t.a, 18515)
    t.check_run("rdma link delete while a program has the device open", t.a,
                "rdma link delete " + t.dev(t.a), 30)
    _check_in_use(t, "the module is in use after the link is gone")
    t.kill(program)
    t.check_run("rmmod right after the program's end", t.a, "rmmod tern", 30)


def _check_programs(t):
    """Stock programs end when the link goes, wherever they are then."""
    device, far = t.dev(t.a), t.dev(t.b)
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    programs, peers = {}, []
    for name, port, options in (("a program that polls", 18515, ""),
                                ("a program in ibv_get_cq_event()", 18516, "-e")):
        command = "ibv_rc_pingpong -n 100000000 -p %d %s" % (port, options)
        peers.append(t.start(t.b, "%s -d %s -g %d" % (command, far, gids[1]), 90))
        t.wait_port(t.b, port)
        programs[name] = t.start(t.a, "%s -d %s -g %d %s" % (command, device, gids[0],
                                                             t.b.address), 90)
    peers.append(t.start(t.b, "rping -s -a " + t.b.address, 90))
    t.wait_cm_listen(t.b)
    programs["a program of rdma_cm"] = t.start(t.a, "rping -c -a " + t.b.address, 90)
    watch = t.start(t.a, "ibv_asyncwatch -d " + device, 90)
    t.sleep(2)
    for name, program in programs.items():
        t.case("%s runs" % name, program.running, program.output()[-800:])
    t.check_run("rdma link delete under stock programs", t.a, "rdma link delete " + device, 30)
    for name, program in programs.items():
        t.case("%s ends" % name, t.finish(program, 40), program.output()[-800:])
    # It waits for more. RC has no keepalive: a peer that waits for a message is not told.
    t.kill(watch, *peers)
    t.case("a program in ibv_get_async_event() is told", "DEVICE_FATAL" in watch.output(),
           watch.output()[-800:])


def _set_down_and_up(t):
    t.run(t.a, "ip link set eth0 down; sleep 0.4; ip link set eth0 up; "
               "ip addr add fd77::%d/64 dev eth0 nodad 2>/dev/null; true" % t.a.index)


def run(t):
    link, kind = LINK[t.lab.driver_of(t.pair, "a")]
    _check_under_load(t, "link deleted", lambda: _delete_link(t))
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after link delete: ")

    if t.is_tern:
        _check_programs(t)
        t.lab.add_link(t.a)

    _check_module_under_load(t)
    if t.is_tern:
        _check_module_after_link(t)
    t.lab.unload(t.a, t.lab.driver_of(t.pair, "a"))
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after module removal: ")

    server, client = t.tool_start("vverify", "-m scale/mixed -S 6 -t 20", 90)
    t.sleep(2)
    _set_down_and_up(t)
    t.case("netdev down and up: traffic ends", t.finish(client, 60) and t.finish(server, 60))
    t.lab.wait_gids(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after down and up: ")

    # Two loops add and delete links at the same time.
    t.run(t.a, "rdma link delete " + (t.dev(t.a) or link), check=True)
    loop = ("for i in $(seq 15); do rdma link add %(name)s type %(kind)s netdev eth0 2>/dev/null; "
            "rdma link delete %(name)s 2>/dev/null; done; true")
    both = [t.start(t.a, loop % {"name": link + str(i), "kind": kind}, 90) for i in (1, 2)]
    t.case("two loops add and delete links", all(c.wait().rc == 0 for c in both))
    t.run(t.a, "for l in $(rdma link | sed -n 's|^link \\([^/]*\\)/.*|\\1|p'); do "
               "rdma link delete $l; done; true")
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after the loops: ")
