# SPDX-License-Identifier: GPL-2.0
"""peer_timeout: the device's file, and connections that end when a peer is silent for that long."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 150

_DEFAULT_S = {"tern-tern": 60, "iwarp-iwarp": 120}
_RANGE_S = (5, 7200)


def _timeout_file(t):
    return "/sys/class/infiniband/%s/peer_timeout" % t.dev(t.a)


def _check_file(t):
    file = _timeout_file(t)
    default = _DEFAULT_S[t.pair]
    t.case("%d s by default" % default, t.run(t.a, "cat " + file).out == "%d\n" % default)
    least, most = _RANGE_S
    for bad in ("", "-1", "0", "never", "0x10", str(least - 1), str(most + 1), str((1 << 32) + 9)):
        # dd prints the error; a shell's echo may not.
        result = t.run(t.a, "echo '%s' | dd conv=notrunc of=%s" % (bad, file))
        t.case("refused: '%s'" % bad, result.rc and "Invalid argument" in result.err, result.err)
    t.case("refused values change nothing", t.run(t.a, "cat " + file).out == "%d\n" % default)
    for good in _RANGE_S:
        t.case("%d reads back" % good, t.run(t.a, "echo %d >%s && cat %s" % (good, file, file)).out
               == "%d\n" % good)
    result = t.run(t.a, "exec setpriv --reuid 1001 --regid 1 --clear-groups "
                        "dd if=/dev/zero count=0 of=" + file)
    t.case("only root may write it", result.rc and "Permission denied" in result.err, result.err)


def _check_dead_peer(t, what, busy):
    """Guest b stops answering: its netdev goes down."""
    file = "/tmp/busy"
    t.undo = [lambda: t.run(t.b, "ip link set eth0 up; sleep 0.4; "
                                 "ip addr add %s/64 dev eth0 nodad" % t.b.address6)]
    t.run(t.a, "rm -f " + file)
    server = t.start(t.b, "exec /tern/vcm accept", 100)
    t.wait_cm_listen(t.b)
    client = t.start(t.a, "/tern/vcm wait-disconnect %s %s" % (t.b.address, file), 100)
    client.wait_for("connected", 30)
    t.run(t.b, "ip link set eth0 down", check=True)
    if busy:
        t.run(t.a, "touch " + file, check=True)
    # By default TCP's keepalive starts after two hours, and retransmission ends after 15 minutes.
    t.finish(client, 60)
    t.case("a dead peer is noticed, " + what, "DISCONNECTED" in client.output(), client.output())
    t.kill(server)
    t.undo_now()


def run(t):
    _check_file(t)
    if t.pair == "iwarp-iwarp":
        t.run(t.a, "echo %d >%s" % (_RANGE_S[0], _timeout_file(t)), check=True)
        _check_dead_peer(t, "with nothing in flight", busy=False)
        _check_dead_peer(t, "with data in flight", busy=True)
    t.run(t.a, "echo %d >%s" % (_DEFAULT_S[t.pair], _timeout_file(t)), check=True)
