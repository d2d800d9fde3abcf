# SPDX-License-Identifier: GPL-2.0
"""How long a silent peer is waited for: a device's file says it, and connections end by it."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 150

_DEFAULT_S = {"tern-tern": 60, "iwarp-iwarp": 120}
_RANGE_S = (5, 7200)


def _file(t):
    return "/sys/class/infiniband/%s/peer_timeout" % t.dev(t.a)


def _said(t):
    file = _file(t)
    default = _DEFAULT_S[t.pair]
    t.case("%d s by default" % default, t.run(t.a, "cat " + file).out == "%d\n" % default)
    least, most = _RANGE_S
    for bad in ("", "-1", "0", "never", "0x10", str(least - 1), str(most + 1), str((1 << 32) + 9)):
        # dd says why; a shell's echo may not.
        result = t.run(t.a, "echo '%s' | dd conv=notrunc of=%s" % (bad, file))
        t.case("refused: '%s'" % bad, result.rc and "Invalid argument" in result.err, result.err)
    t.case("and nothing came of it", t.run(t.a, "cat " + file).out == "%d\n" % default)
    for good in _RANGE_S:
        t.case("%d reads back" % good, t.run(t.a, "echo %d >%s && cat %s" % (good, file, file)).out
               == "%d\n" % good)
    result = t.run(t.a, "exec setpriv --reuid 1001 --regid 1 --clear-groups "
                        "dd if=/dev/zero count=0 of=" + file)
    t.case("only root's to write", result.rc and "Permission denied" in result.err, result.err)


def _dead(t, what, busy):
    """b is as good as dead to a: its cable is cut."""
    file = "/tmp/busy"
    t.undo = [lambda: t.run(t.b, "ip link set eth0 up; sleep 0.4; "
                                 "ip addr add %s/64 dev eth0 nodad" % t.b.address6)]
    t.run(t.a, "rm -f " + file)
    server = t.start(t.b, "exec /tern/vcm answer", 100)
    t.wait_cm_listen(t.b)
    client = t.start(t.a, "/tern/vcm watch %s %s" % (t.b.address, file), 100)
    client.wait_for("connected", 30)
    t.run(t.b, "ip link set eth0 down", check=True)
    if busy:
        t.run(t.a, "touch " + file, check=True)
    # By default TCP looks after two hours, or gives up after a quarter of one.
    t.finish(client, 60)
    t.case("a dead peer is noticed, " + what, "DISCONNECTED" in client.output(), client.output())
    t.kill(server)
    t.undo_now()


def run(t):
    _said(t)
    if t.pair == "iwarp-iwarp":
        t.run(t.a, "echo %d >%s" % (_RANGE_S[0], _file(t)), check=True)
        _dead(t, "with nothing under way", busy=False)
        _dead(t, "with something under way", busy=True)
    t.run(t.a, "echo %d >%s" % (_DEFAULT_S[t.pair], _file(t)), check=True)
