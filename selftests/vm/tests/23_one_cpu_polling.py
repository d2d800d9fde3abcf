# SPDX-License-Identifier: GPL-2.0
"""A program that polls an empty CQ does not sleep, even if there is only one CPU."""

LIMIT = 90
PORT = 18515
# How often it may give up its CPU voluntarily in 2 s without a packet.
SLEEPS = 5


def _count_sleeps(t):
    """The server's voluntary context switches so far."""
    out = t.run(t.b, "grep ^voluntary /proc/$(pgrep rc_pingpong)/status", check=True).out
    return int(out.split()[-1])


def _wait_for_traffic(t):
    """Wait until the client has sent 500 more packets."""
    t.a.wait_until(t.has_grown(t.a, "tx_packets", 500), timeout=20)


def run(t):
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    command = "ibv_rc_pingpong -n 10000000 -d %s -g %d"
    server = t.start(t.b, command % (t.dev(t.b), gids[1]), 60)
    t.wait_port(t.b, PORT)
    client = t.start(t.a, command % (t.dev(t.a), gids[0]) + " " + t.b.address, 60)
    try:
        _wait_for_traffic(t)
        t.run(t.a, "pkill -STOP rc_pingpong", check=True)
        t.sleep(0.2)
        before = _count_sleeps(t)
        t.run(t.b, "sleep 2", check=True)
        sleeps = _count_sleeps(t) - before
        t.run(t.a, "pkill -CONT rc_pingpong", check=True)
        _wait_for_traffic(t)
        goes_on = server.running and client.running
    finally:
        t.kill(server, client)
    cpus = t.run(t.b, "nproc", check=True).out.strip()
    t.case("does not sleep", sleeps <= SLEEPS, "slept %d times, %s CPUs" % (sleeps, cpus))
    t.case("goes on when packets come again", goes_on)
