# SPDX-License-Identifier: GPL-2.0
"""iWARP: ACKs come in time for a sender whose congestion window is less than an FPDU."""

PAIRS = ("ww",)
LIMIT = 90

# Segments; what the route says goes for connections after one that has ended.
_WINDOW = 4
_ROUTE = "ip route %%s %s/32 dev eth0"
# 10 MB and more were sent by it: ACKs that are late each time would take a minute for that.
_SENT = r"ss -tinHO dst %s | grep -Eq 'cwnd:%d .* bytes_acked:[0-9]{8}'"


def run(t):
    route = _ROUTE % t.b.address
    sent = _SENT % (t.b.address, _WINDOW)
    t.undo = [lambda: t.run(t.a, route % "del" + " 2>/dev/null; ip tcp_metrics flush")]
    t.run(t.a, "ip tcp_metrics flush; %s cwnd lock %d" % (route % "replace", _WINDOW), check=True)
    t.pair_case("a connection before", "ib_write_bw -R -F -n 5 -d " + t.dev(t.b),
                "ib_write_bw -R -F -n 5 -d %s %s" % (t.dev(t.a), t.b.address), port=18515)
    server, client = t.endless("ib_write_bw -R -F --run_infinitely -s 65536", sent)
    t.check_run("much gets through a small congestion window", t.a, sent)
    t.case("and goes on", server.running and client.running, client.output())
    t.kill(client, server)
