# SPDX-License-Identifier: GPL-2.0
"""iWARP: bulk of more QPs than may write to TCP at a time; some stall, some end while they wait.

And of fewer, which wait when they have enough under way.
"""

PAIRS = ("iwarp-iwarp",)
LIMIT = 150

_QPS = 32
# A second address of guest b, for connections that are to stall.
_SECOND = "10.77.0.202"
_ADDRESS = "ip addr %s " + _SECOND + "/24 dev eth0"
# How many connections with b have something on its way, or to be sent.
_BUSY = "ss -tnH dst %s | awk '$3 > 0' | wc -l"
# How much b has taken of each connection, a line "port bytes".
_TAKEN = r"ss -tinHO dst %s | sed -En 's/^[^:]*:([0-9]+) .* bytes_acked:([0-9]+) .*/\1 \2/p'"


def _verified(t, case, prefix="", options="", qps=_QPS):
    t.tool("vverify", "-m scale/%s -N %d -t 20 %s" % (case, qps, options), timeout=60,
           prefix=prefix)


def _streams(t, host, options=""):
    """Bulk on all QPs without end; returns (server, client) once several of them move.

    As long as turns are long, two of them are all that there may be at a time.
    """
    return t.endless("ib_write_bw -R -F --run_infinitely -q %d -t 8 -s 65536 %s"
                     % (_QPS, options), "[ $(%s) -ge 2 ]" % (_BUSY % host), host)


def _taken(t, host):
    """{port: bytes} of the connections with an address of b."""
    lines = t.run(t.a, _TAKEN % host, check=True).out.splitlines()
    return {int(port): int(taken) for port, taken in map(str.split, lines)}


def _settled(t, host):
    """_taken() once the ACKs that were on their way are there."""
    before, after = None, _taken(t, host)
    for _ in range(20):
        if after == before:
            break
        t.sleep(0.5)
        before, after = after, _taken(t, host)
    return after


def _stalled(t):
    """Some QPs hear nothing for a time: that keeps neither each other nor those of others."""
    t.run(t.b, _ADDRESS % "replace", check=True)
    t.undo = [lambda: t.run(t.b, _ADDRESS % "del" + " 2>/dev/null; true")]
    server, client = _streams(t, _SECOND)
    t.run(t.b, _ADDRESS % "del", check=True)
    # All have written something that nobody takes.
    t.a.wait_until("[ $(%s) -ge %d ]" % (_BUSY % _SECOND, _QPS), timeout=20)
    before = _settled(t, _SECOND)
    _verified(t, "bulk", "beside them: ", "-S 0")
    t.case("they have stalled", _taken(t, _SECOND) == before, before)
    t.run(t.b, _ADDRESS % "add", check=True)
    for _ in range(60):
        after = _taken(t, _SECOND)
        moved = sum(after.get(port, 0) > count for port, count in before.items())
        if moved >= _QPS:
            break
        t.sleep(0.5)
    t.case("each goes on", moved >= _QPS and server.running and client.running,
           "%s\n%s\n%s" % (before, after, client.output()))
    t.kill(client, server)


def _ended(t):
    """QPs go while many wait, killed or with their device, and the module after them."""
    for how in ("killed", "unlinked"):
        server, client = _streams(t, t.b.address, "-b")
        t.case("%s: traffic runs" % how, server.running and client.running, client.output())
        if how == "unlinked":
            t.check_run("the link goes", t.a, "rdma link delete " + t.dev(t.a))
        t.kill(client, server)
        for guest in t.guests:
            t.check_run("%s: the module goes (%s)" % (how, guest.name), guest, "rmmod tern")
            t.lab.add_link(guest, "iwarp")


def run(t):
    t.run(t.a, "modprobe sch_plug", check=True)
    _verified(t, "bulk", options="-S 2")
    # Each has a turn, and waits when it has enough under way.
    _verified(t, "bulk", "few: ", "-S 2", 4)
    _verified(t, "plugged")
    _stalled(t)
    _ended(t)
