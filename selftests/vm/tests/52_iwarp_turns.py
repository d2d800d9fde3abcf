# SPDX-License-Identifier: GPL-2.0
"""iWARP: bulk of more QPs than may write to TCP at a time; some stall, some end while they wait."""

PAIRS = ("ww",)
LIMIT = 150

_QPS = 32
# A second address of guest b, for connections that are to stall.
_SECOND = "10.77.0.202"
_ADDRESS = "ip addr %s " + _SECOND + "/24 dev eth0"
# How many connections with b have something on its way, or to be sent.
_BUSY = "ss -tnH dst %s | awk '$3 > 0' | wc -l"


def _verified(t, case, prefix="", options=""):
    t.tool("vverify", "-m scale/%s -N %d -t 20 %s" % (case, _QPS, options), timeout=60,
           prefix=prefix)


def _streams(t, options, host):
    """Bulk on all QPs at once; returns (server, client) once many of them move."""
    return t.endless("ib_write_bw -R -F -q %d -t 8 -s 65536 %s" % (_QPS, options),
                     "[ $(%s) -ge %d ]" % (_BUSY % host, _QPS // 2), host)


def _stalled(t):
    """Some QPs hear nothing for a time: that keeps neither each other nor those of others."""
    t.run(t.b, _ADDRESS % "replace", check=True)
    t.undo = [lambda: t.run(t.b, _ADDRESS % "del" + " 2>/dev/null; true")]
    server, client = _streams(t, "-D 4", _SECOND)
    t.run(t.b, _ADDRESS % "del", check=True)
    t.sleep(2)
    busy = int(t.run(t.a, _BUSY % _SECOND).out)
    t.case("all have written something that nobody takes", busy >= _QPS, busy)
    _verified(t, "bulk", "beside them: ", "-S 0")
    t.case("they have stalled", client.running and server.running, client.output())
    t.run(t.b, _ADDRESS % "add", check=True)
    t.case("they go on", client.wait().rc == 0 and t.finish(server), client.output())


def _ended(t):
    """QPs go while many wait, killed or with their device, and the module after them."""
    for how in ("killed", "unlinked"):
        server, client = _streams(t, "-b --run_infinitely", t.b.address)
        t.case("%s: traffic runs" % how, server.running and client.running, client.output())
        if how == "unlinked":
            t.check_run("the link goes", t.a, "rdma link delete " + t.dev(t.a))
        for command in (client, server):
            command.kill(9)
            command.wait(timeout=30)
        for guest in t.guests:
            t.check_run("%s: the module goes (%s)" % (how, guest.name), guest, "rmmod tern")
            t.lab.add_link(guest, "iwarp")


def run(t):
    t.run(t.a, "modprobe sch_plug", check=True)
    _verified(t, "bulk", options="-S 2")
    _verified(t, "plugged")
    _stalled(t)
    _ended(t)
