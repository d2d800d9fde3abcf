# SPDX-License-Identifier: GPL-2.0
"""A program that spins on an empty CQ waits in the kernel where there is one CPU, or is told to."""

LIMIT = 90
PORT = 18515
# Of a CPU, while nothing comes.
WAITS, SPINS = 0.3, 0.5


def _ticks(t):
    """CPU time of the server, user and system, in 1/100 s."""
    out = t.run(t.b, "cat /proc/$(pgrep rc_pingpong)/stat", check=True).out
    return sum(int(n) for n in out.rpartition(")")[2].split()[11:13])


def _wait_more(t):
    """Until the client has sent some hundred packets more."""
    sent = "$(cat /sys/class/infiniband/%s/ports/1/hw_counters/tx_packets)" % t.dev(t.a)
    now = int(t.run(t.a, "echo " + sent, check=True).out)
    t.a.wait_until("test %s -gt %d" % (sent, now + 500), timeout=20)


def _share(t, environment, commands):
    """The server's, of its CPU, while its client is stopped; and whether it goes on after that."""
    server = t.start(t.b, environment + commands[1], 60)
    t.wait_port(t.b, PORT)
    client = t.start(t.a, commands[0], 60)
    try:
        _wait_more(t)
        t.run(t.a, "pkill -STOP rc_pingpong", check=True)
        t.sleep(0.2)
        before = _ticks(t)
        t.run(t.b, "sleep 2", check=True)
        share = (_ticks(t) - before) / 200
        t.run(t.a, "pkill -CONT rc_pingpong", check=True)
        _wait_more(t)
        goes_on = server.running and client.running
    finally:
        server.kill(9)
        client.kill(9)
    return share, goes_on



def run(t):
    gids = [t.gid_index(guest, guest.address) for guest in t.guests]
    command = "ibv_rc_pingpong -n 10000000 -d %s -g %d"
    commands = (command % (t.dev(t.a), gids[0]) + " " + t.b.address,
                command % (t.dev(t.b), gids[1]))
    one_cpu = t.run(t.b, "nproc", check=True).out.strip() == "1"
    for environment, waits in (("TERN_POLL=wait ", True), ("TERN_POLL=spin ", False),
                               ("", one_cpu)):
        share, goes_on = _share(t, environment, commands)
        name = (environment.strip() or "by default") + (": waits" if waits else ": spins")
        t.case(name, share < WAITS if waits else share > SPINS, "%.2f of the CPU" % share)
        t.case((environment.strip() or "by default") + ": goes on when something comes", goes_on)
