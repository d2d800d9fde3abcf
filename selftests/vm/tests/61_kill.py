# SPDX-License-Identifier: GPL-2.0
"""kill -9 of either end under load: the other end notices, nothing is left behind."""

LIMIT = 180

_QUEUED = "tc -s qdisc show dev eth0 | grep -E 'backlog [1-9]'"


def _start_bulk(t, tool):
    """An endless transfer; returns (client, server) once it moves."""
    server, client = t.endless("%s -F --run_infinitely -s 65536" % tool,
                               t.has_grown(t.a, "requests_sent", 100))
    return client, server


def _kill_in_queue(t):
    """What QPs had in a queueing discipline does not count once they are gone.

    The rate is so low, a packet a second, that a window of two, as after a time-out, is still
    there when the client has been killed, which slow guests take longer for.
    """
    for _ in range(4):
        client, server = _start_bulk(t, "ib_write_bw")
        try:
            t.run(t.a, "tc qdisc replace dev eth0 root tbf rate %dbit burst 1600 limit 4mb"
                  % (8000 / t.slow), check=True)
            t.a.wait_until(_QUEUED, timeout=20)
            t.kill(client)
            t.case("packets outlive their QP", t.run(t.a, _QUEUED).ok)
        finally:
            t.run(t.a, "tc qdisc del dev eth0 root")
        t.kill(server)


def run(t):
    for turn in range(6):
        server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
        t.sleep(2.5 + 0.3 * turn)
        victim, other = (client, server) if turn % 2 else (server, client)
        t.kill(victim)
        t.case("the other end ends too (%s killed)" % ("client" if turn % 2 else "server"),
               t.finish(other, 30))
    for tool in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
        t.kill(*_start_bulk(t, tool))
    _kill_in_queue(t)
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
