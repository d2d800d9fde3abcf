# SPDX-License-Identifier: GPL-2.0
"""A program that spins on an empty CQ waits in the kernel where there is one CPU, or is told to."""

LIMIT = 90
PORT = 18515
# How often it gave up its CPU in 2 s in which nothing came: each wait is 4 ms at most.
WAITS, SPINS = 50, 5


def _sleeps(t):
    """How often the server has given up its CPU so far."""
    out = t.run(t.b, "grep ^voluntary /proc/$(pgrep rc_pingpong)/status", check=True).out
    return int(out.split()[-1])


def _wait_more(t):
    """Until the client has sent some hundred packets more."""
    t.a.wait_until(t.has_grown(t.a, "tx_packets", 500), timeout=20)


def _watch(t, environment, commands):
    """The server's sleeps while its client is stopped; and whether it goes on after that."""
    server = t.start(t.b, environment + commands[1], 60)
    t.wait_port(t.b, PORT)
    client = t.start(t.a, commands[0], 60)
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
        server.kill(9)
        client.kill(9)
    return sleeps, goes_on


def run(t):
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    command = "ibv_rc_pingpong -n 10000000 -d %s -g %d"
    commands = (command % (t.dev(t.a), gids[0]) + " " + t.b.address,
                command % (t.dev(t.b), gids[1]))
    one_cpu = t.run(t.b, "nproc", check=True).out.strip() == "1"
    for environment, waits in (("TERN_POLL=wait ", True), ("TERN_POLL=spin ", False),
                               ("", one_cpu)):
        sleeps, goes_on = _watch(t, environment, commands)
        name = (environment.strip() or "by default") + (": waits" if waits else ": spins")
        if waits and t.lab.native:
            # Who polls is seen to spin when less than 4 us lie between two looks at the clock.
            t.skip(name, "reading the clock takes 4 us in User Mode Linux")
        else:
            t.case(name, sleeps > WAITS if waits else sleeps < SPINS, "slept %d times" % sleeps)
        t.case((environment.strip() or "by default") + ": goes on when something comes", goes_on)
