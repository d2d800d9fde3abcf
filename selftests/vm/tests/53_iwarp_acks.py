# SPDX-License-Identifier: GPL-2.0
"""iWARP: ACKs come in time for a sender that may send little without one."""

PAIRS = ("iwarp-iwarp",)
LIMIT = 90

# Segments; what the route says goes for connections after one that has ended.
_WINDOW = 4
_ROUTE = "ip route %%s %s/32 dev eth0"
# 10 MB and more were sent by it: ACKs that are late each time would take a minute for that.
_SENT = r"ss -tinHO dst %s | grep -Eq 'cwnd:%d .* bytes_acked:[0-9]{8}'"
# A send buffer's most bytes, less than what ACKs may wait for.
_BUFFER = 65536
_WMEM = "sysctl -qw net.ipv4.tcp_wmem='%s'"


def _small_window(t):
    """Its congestion window is less than an FPDU."""
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
    t.undo_now()


def _small_buffer(t):
    """It has more window than buffer, which goes out in several pieces."""
    before = t.run(t.a, "sysctl -n net.ipv4.tcp_wmem", check=True).out.split()
    t.undo = [lambda: t.run(t.a, _WMEM % " ".join(before))]
    t.run(t.a, _WMEM % " ".join(before[:2] + [str(_BUFFER)]), check=True)
    sent = "ss -tinHO dst %s | grep -Eq 'bytes_acked:([3-9][0-9]{7}|[0-9]{9})'" % t.b.address
    server, client = t.endless("ib_write_bw -R -F --run_infinitely -s 65536", sent)
    t.check_run("much gets through a small buffer", t.a, sent)
    t.case("and goes on: small buffer", server.running and client.running, client.output())
    t.kill(client, server)


def run(t):
    _small_window(t)
    _small_buffer(t)
