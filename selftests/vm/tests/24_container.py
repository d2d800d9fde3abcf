# SPDX-License-Identifier: GPL-2.0
"""Roots of other Debian releases: their libibverbs and programs with the plugin that was built here."""

from vmtest.container import Container

PAIRS = ("tern-tern",)
LIMIT = 240
CONTAINERS = True
PORT = 18515

_LIBRARY = "basename $(readlink -f /usr/lib/*/libibverbs.so.1)"


def _devinfo(t, box):
    """The device is found, and nobody has a complaint."""
    for guest in t.guests:
        found = t.run(guest, box.command("ibv_devinfo -v -d " + t.dev(guest)))
        t.case("%s: ibv_devinfo in %s" % (box.suite, guest.name),
               found.rc == 0 and "PORT_ACTIVE" in found.out and not found.err.strip(),
               "exit %d\n%s%s" % (found.rc, found.out, found.err))


def _both_ways(t, box, name, server, client):
    """A pair of programs, one of them in the container, then the other."""
    t.pair_case("%s: %s, the client in it" % (box.suite, name), server, box.command(client),
                port=PORT, timeout=40)
    t.pair_case("%s: %s, the server in it" % (box.suite, name), box.command(server), client,
                port=PORT, timeout=40)


def _pingpong(t, box):
    """-N is the ibv_wr_* interface, -t the extended CQ's: what lies where differs by release."""
    devices = t.dev(t.a), t.dev(t.b)
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    for kind, options in (("rc", "-s 4097 -c"), ("rc", "-s 4097 -c -N -t"),
                          ("ud", "-s 1024 -e"), ("srq", "-s 4097 -c")):
        command = "ibv_%s_pingpong -n 100 %s" % (kind, options)
        _both_ways(t, box, "%s %s" % (kind, options),
                   "%s -d %s -g %d" % (command, devices[1], gids[1]),
                   "%s -d %s -g %d %s" % (command, devices[0], gids[0], t.b.address))


def _perftest(t, box):
    """Polls and posts by the plain interface, for longer."""
    command = "ib_write_bw -F -n 300 -s 65536"
    server, client = "%s -d %s" % (command, t.dev(t.b)), \
        "%s -d %s %s" % (command, t.dev(t.a), t.b.address)
    _both_ways(t, box, "ib_write_bw", server, client)
    t.pair_case("%s: ib_write_bw, both in it" % box.suite, box.command(server),
                box.command(client), port=PORT, timeout=40)


def _rping(t, box):
    """The same plugin below librdmacm."""
    server, client = "rping -s -C 9 -a " + t.b.address, "rping -c -C 9 -a " + t.b.address
    t.pair_case("%s: rping, the client in it" % box.suite, server, box.command(client), port="cm")
    t.pair_case("%s: rping, the server in it" % box.suite, box.command(server), client, port="cm")


def run(t):
    if not t.lab.containers and not t.lab.is_ours:
        t.skip("programs of other releases", "the rig was up already, and not by 'qemu/rig up "
               "--containers': its guests have no other roots")
        return
    own = t.run(t.a, _LIBRARY, check=True).out.strip()
    t.case("the guests have roots of other suites", t.lab.containers)
    for suite in t.lab.containers:
        box = Container(t, suite)
        theirs = t.run(t.a, box.shell(_LIBRARY), check=True).out.strip()
        t.case("%s: it has another libibverbs" % suite, theirs != own, "both %s" % own)
        t.note("guests have %s, %s has %s" % (own, suite, theirs))
        _devinfo(t, box)
        _pingpong(t, box)
        _rping(t, box)
        _perftest(t, box)
        t.undo_now()
