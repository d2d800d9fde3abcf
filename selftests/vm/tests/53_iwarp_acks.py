# SPDX-License-Identifier: GPL-2.0
"""iWARP: ACKs are not delayed for a sender with a small congestion window or send buffer."""

PAIRS = ("iwarp-iwarp",)
LIMIT = 90

# Segments. The route's setting holds for connections after the first one.
_WINDOW = 4
_ROUTE = "ip route %%s %s/32 dev eth0"
# At least 10 MB were sent with that window. With late ACKs that would take a minute.
_SENT = r"ss -tinHO dst %s | grep -Eq 'cwnd:%d .* bytes_acked:[0-9]{8}'"
# The largest send buffer in bytes. It is less than the receiver may wait for with an ACK.
_BUFFER = 65536
_WMEM = "sysctl -qw net.ipv4.tcp_wmem='%s'"


def _check_small_window(t):
    """The congestion window is smaller than an FPDU."""
    route = _ROUTE % t.b.address
    sent = _SENT % (t.b.address, _WINDOW)
    t.undo = [lambda: t.run(t.a, route % "del" + " 2>/dev/null; ip tcp_metrics flush")]
    t.run(t.a, "ip tcp_metrics flush; %s cwnd lock %d" % (route % "replace", _WINDOW), check=True)
    t.pair_case("a first connection", "ib_write_bw -R -F -n 5 -d " + t.dev(t.b),
                "ib_write_bw -R -F -n 5 -d %s %s" % (t.dev(t.a), t.b.address), port=18515)
    server, client = t.endless("ib_write_bw -R -F --run_infinitely -s 65536", sent)
    t.check_run("small congestion window: 10 MB are sent in time", t.a, sent)
    t.case("small congestion window: traffic goes on", server.running and client.running, client.output())
    t.kill(client, server)
    t.undo_now()


def _check_small_buffer(t):
    """The send buffer is smaller than the window, and goes out in several pieces."""
    before = t.run(t.a, "sysctl -n net.ipv4.tcp_wmem", check=True).out.split()
    t.undo = [lambda: t.run(t.a, _WMEM % " ".join(before))]
    t.run(t.a, _WMEM % " ".join(before[:2] + [str(_BUFFER)]), check=True)
    sent = "ss -tinHO dst %s | grep -Eq 'bytes_acked:([3-9][0-9]{7}|[0-9]{9})'" % t.b.address
    server, client = t.endless("ib_write_bw -R -F --run_infinitely -s 65536", sent)
    t.check_run("small buffer: 30 MB are sent in time", t.a, sent)
    t.case("small buffer: traffic goes on", server.running and client.running, client.output())
    t.kill(client, server)


def run(t):
    _check_small_window(t)
    _check_small_buffer(t)
