# SPDX-License-Identifier: GPL-2.0
"""Containers of other Debian releases: their libibverbs and programs work with this provider."""

from riglib.rping import rping
from vmtest.container import Container

PAIRS = ("tern-tern",)
LIMIT = 240
CONTAINERS = True
PORT = 18515

_LIBRARY = "basename $(readlink -f /usr/lib/*/libibverbs.so.1)"


def _check_devinfo(t, box):
    """ibv_devinfo finds the device and prints no warning."""
    for guest in t.guests:
        found = t.run(guest, box.command("ibv_devinfo -v -d " + t.dev(guest)))
        t.case("%s: ibv_devinfo in %s" % (box.suite, guest.name),
               found.rc == 0 and "PORT_ACTIVE" in found.out and not found.err.strip(),
               "exit %d\n%s%s" % (found.rc, found.out, found.err))


def _run_both_ways(t, box, name, server, client):
    """Run a pair of programs twice: with the client in the container, then with the server."""
    t.pair_case("%s: %s, client in it" % (box.suite, name), server, box.command(client),
                port=PORT, timeout=40)
    t.pair_case("%s: %s, server in it" % (box.suite, name), box.command(server), client,
                port=PORT, timeout=40)


def _run_pingpong(t, box):
    """-N uses the ibv_wr_* interface, -t extended CQs: their structures differ by release."""
    devices = t.dev(t.a), t.dev(t.b)
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    for kind, options in (("rc", "-s 4097 -c"), ("rc", "-s 4097 -c -N -t"),
                          ("ud", "-s 1024 -e"), ("srq", "-s 4097 -c")):
        command = "ibv_%s_pingpong -n 100 %s" % (kind, options)
        _run_both_ways(t, box, "%s %s" % (kind, options),
                       "%s -d %s -g %d" % (command, devices[1], gids[1]),
                       "%s -d %s -g %d %s" % (command, devices[0], gids[0], t.b.address))


def _run_perftest(t, box):
    """A longer run of the plain post and poll interface."""
    command = "ib_write_bw -F -n 300 -s 65536"
    server, client = "%s -d %s" % (command, t.dev(t.b)), \
        "%s -d %s %s" % (command, t.dev(t.a), t.b.address)
    _run_both_ways(t, box, "ib_write_bw", server, client)
    t.pair_case("%s: ib_write_bw, both in it" % box.suite, box.command(server),
                box.command(client), port=PORT, timeout=40)


def _run_rping(t, box):
    """librdmacm finds the provider, too."""
    server, client = rping(9, "-s -a " + t.b.address), rping(9, "-c -a " + t.b.address)
    t.pair_case("%s: rping, client in it" % box.suite, server, box.shell(client), port="cm")
    t.pair_case("%s: rping, server in it" % box.suite, box.shell(server), client, port="cm")


def run(t):
    if not t.lab.containers and not t.lab.is_ours:
        t.skip("programs of other releases", "the rig was up already, without --containers: its "
               "guests have no roots of other releases")
        return
    own = t.run(t.a, _LIBRARY, check=True).out.strip()
    t.case("the guests have roots of other releases", t.lab.containers)
    for suite in t.lab.containers:
        box = Container(t, suite)
        theirs = t.run(t.a, box.shell(_LIBRARY), check=True).out.strip()
        t.case("%s: its libibverbs is another one" % suite, theirs != own, "both %s" % own)
        t.note("guests have %s, %s has %s" % (own, suite, theirs))
        _check_devinfo(t, box)
        _run_pingpong(t, box)
        _run_rping(t, box)
        _run_perftest(t, box)
        t.undo_now()
