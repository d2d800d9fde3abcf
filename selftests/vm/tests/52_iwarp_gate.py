# SPDX-License-Identifier: GPL-2.0
"""iWARP's gate: bulk of more QPs than may write to TCP at a time; some stall, some end in the queue.

Also bulk of fewer QPs, which wait while they have enough in flight.
"""

PAIRS = ("iwarp-iwarp",)
LIMIT = 150

_QPS = 32
# A second address of guest b, for connections that are to stall.
_SECOND = "10.77.0.202"
_ADDRESS = "ip addr %s " + _SECOND + "/24 dev eth0"
# How many connections with b have unacknowledged or unsent data.
_BUSY = "ss -tnH dst %s | awk '$3 > 0' | wc -l"
# How many bytes b has acknowledged on each connection, as lines "port bytes".
_ACKED = r"ss -tinHO dst %s | sed -En 's/^[^:]*:([0-9]+) .* bytes_acked:([0-9]+) .*/\1 \2/p'"


def _run_verify(t, case, prefix="", options="", qps=_QPS):
    t.tool("vverify", "-m scale/%s -N %d -t 20 %s" % (case, qps, options), timeout=60,
           prefix=prefix)


def _start_streams(t, host, options=""):
    """Start endless bulk on all QPs; returns (server, client) once two of them have sent.

    The gate lets few QPs write at a time, so there may not be more than two for long.
    """
    return t.endless("ib_write_bw -R -F --run_infinitely -q %d -t 8 -s 65536 %s"
                     % (_QPS, options), "[ $(%s) -ge 2 ]" % (_BUSY % host), host)


def _read_acked(t, host):
    """{port: bytes} of the connections with an address of b."""
    lines = t.run(t.a, _ACKED % host, check=True).out.splitlines()
    return {int(port): int(taken) for port, taken in map(str.split, lines)}


def _wait_settled(t, host):
    """The same, once all ACKs in flight have arrived."""
    before, after = None, _read_acked(t, host)
    for _ in range(20):
        if after == before:
            break
        t.sleep(0.5)
        before, after = after, _read_acked(t, host)
    return after


def _check_stalled(t):
    """Some QPs get no ACK for a time. That blocks neither each other nor other programs' QPs."""
    t.run(t.b, _ADDRESS % "replace", check=True)
    t.undo = [lambda: t.run(t.b, _ADDRESS % "del" + " 2>/dev/null; true")]
    # A slow machine takes longer for what is beside it than a silent peer is waited for.
    t.run(t.a, "echo 7200 >/sys/class/infiniband/%s/peer_timeout" % t.dev(t.a), check=True)
    server, client = _start_streams(t, _SECOND)
    t.run(t.b, _ADDRESS % "del", check=True)
    # All QPs have written data that is not acknowledged.
    t.a.wait_until("[ $(%s) -ge %d ]" % (_BUSY % _SECOND, _QPS), timeout=20)
    before = _wait_settled(t, _SECOND)
    _run_verify(t, "bulk", "beside stalled QPs: ", "-S 0")
    t.case("the QPs have stalled", _read_acked(t, _SECOND) == before, before)
    t.run(t.b, _ADDRESS % "add", check=True)
    for _ in range(60):
        after = _read_acked(t, _SECOND)
        moved = sum(after.get(port, 0) > count for port, count in before.items())
        if moved >= _QPS:
            break
        t.sleep(0.5)
    t.case("each QP goes on", moved >= _QPS and server.running and client.running,
           "%s\n%s\n%s" % (before, after, client.output()))
    t.kill(client, server)


def _check_ends(t):
    """Programs are killed, or the link is deleted, while many QPs wait. Then the module is removed."""
    for how in ("killed", "link deleted"):
        server, client = _start_streams(t, t.b.address, "-b")
        t.case("%s: traffic runs" % how, server.running and client.running, client.output())
        if how == "link deleted":
            t.check_run("rdma link delete", t.a, "rdma link delete " + t.dev(t.a))
        t.kill(client, server)
        for guest in t.guests:
            t.check_run("%s: rmmod (%s)" % (how, guest.name), guest, "rmmod tern")
            t.lab.add_link(guest, "iwarp")


def run(t):
    t.run(t.a, "modprobe sch_plug", check=True)
    _run_verify(t, "bulk", options="-S 2")
    # Each QP may write, and waits when it has enough in flight.
    _run_verify(t, "bulk", "few: ", "-S 2", 4)
    _run_verify(t, "plugged")
    _check_stalled(t)
    _check_ends(t)
