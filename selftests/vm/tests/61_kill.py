# SPDX-License-Identifier: GPL-2.0
"""kill -9 of either end under load: the other end ends too, and no object is left."""

LIMIT = 180

_QUEUED = "tc -s qdisc show dev eth0 | grep -E 'backlog [1-9]'"


def _start_bulk(t, tool):
    """Start an endless transfer; returns (client, server) once it moves."""
    server, client = t.endless("%s -F --run_infinitely -s 65536" % tool,
                               t.has_grown(t.a, "requests_sent", 100))
    return client, server


def _check_queued_packets(t):
    """Packets in a queueing discipline are not charged to the gate after their QP has ended.

    At a packet a second even a window of two packets, as after a timeout, is still queued when the
    client has been killed. Slow guests take longer for that, and get a lower rate.
    """
    for _ in range(4):
        client, server = _start_bulk(t, "ib_write_bw")
        try:
            t.run(t.a, "tc qdisc replace dev eth0 root tbf rate %dbit burst 1600 limit 4mb"
                  % (8000 / t.slow), check=True)
            t.a.wait_until(_QUEUED, timeout=20)
            t.kill(client)
            t.case("packets are queued after their QP has ended", t.run(t.a, _QUEUED).ok)
        finally:
            t.run(t.a, "tc qdisc del dev eth0 root")
        t.kill(server)


def run(t):
    for number in range(6):
        server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
        t.sleep(2.5 + 0.3 * number)
        victim, other = (client, server) if number % 2 else (server, client)
        t.kill(victim)
        t.case("%s killed: the other end ends too" % ("client" if number % 2 else "server"),
               t.finish(other, 30))
    for tool in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
        t.kill(*_start_bulk(t, tool))
    _check_queued_packets(t)
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
