# SPDX-License-Identifier: GPL-2.0
"""A program that spins on an empty CQ never sleeps, whatever CPUs there are."""

LIMIT = 90
PORT = 18515
# How often it may have given up its CPU of its own accord in 2 s in which nothing came.
SLEEPS = 5


def _sleeps(t):
    """How often the server has slept so far."""
    out = t.run(t.b, "grep ^voluntary /proc/$(pgrep rc_pingpong)/status", check=True).out
    return int(out.split()[-1])


def _wait_more(t):
    """Until the client has sent some hundred packets more."""
    t.a.wait_until(t.has_grown(t.a, "tx_packets", 500), timeout=20)


def run(t):
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    command = "ibv_rc_pingpong -n 10000000 -d %s -g %d"
    server = t.start(t.b, command % (t.dev(t.b), gids[1]), 60)
    t.wait_port(t.b, PORT)
    client = t.start(t.a, command % (t.dev(t.a), gids[0]) + " " + t.b.address, 60)
    try:
        _wait_more(t)
        t.run(t.a, "pkill -STOP rc_pingpong", check=True)
        t.sleep(0.2)
        before = _sleeps(t)
        t.run(t.b, "sleep 2", check=True)
        sleeps = _sleeps(t) - before
        t.run(t.a, "pkill -CONT rc_pingpong", check=True)
        _wait_more(t)
        goes_on = server.running and client.running
    finally:
        t.kill(server, client)
    cpus = t.run(t.b, "nproc", check=True).out.strip()
    t.case("does not sleep", sleeps <= SLEEPS, "slept %d times, %s CPUs" % (sleeps, cpus))
    t.case("goes on when something comes", goes_on)
