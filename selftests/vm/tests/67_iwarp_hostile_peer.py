# SPDX-License-Identifier: GPL-2.0
"""iWARP: a hostile peer breaks the protocol in every way; other connections notice nothing."""

from riglib.rping import rping

PAIRS = ("iwarp-iwarp",)
LIMIT = 200

_GROUPS = ("mpa", "framing", "sends", "writes", "reads", "atomics", "sizes", "quotes", "terminates",
           "stream", "slow", "garbage")
# One case of the group "stream" fills a receive buffer, so buffers must not grow beyond tern's size
# (IW_RCVBUF_BYTES).
_RMEM = "/proc/sys/net/ipv4/tcp_rmem"
_RMEM_MOST = 512 << 10
# Without a count of pings, so that it runs until a signal.
_RPING = "exec rping -v -V -a %s -p 7200 %s >/tmp/pings"


def _read_progress(t):
    """The output size of the rping beside it, which prints what it verified, a full buffer at a time."""
    return int(t.run(t.a, "stat -c %s /tmp/pings").out)


def _has_progress(t, before):
    """Does the output grow beyond `before`? A short group may end before the next buffer is full."""
    return t.run(t.a, "for i in $(seq 100); do [ $(stat -c %%s /tmp/pings) -gt %d ] && exit; sleep 0.2; "
                      "done; exit 1" % before).ok


def _limit_receive_buffer(t):
    usual = t.run(t.b, "cat " + _RMEM, check=True).out.split()
    t.undo = [lambda: t.run(t.b, "echo %s >%s" % (" ".join(usual), _RMEM))]
    t.run(t.b, "echo %s %d >%s" % (" ".join(usual[:2]), _RMEM_MOST, _RMEM), check=True)


def _check_hostile_servers(t):
    """Servers send wrong replies: the client ends soon."""
    server = t.start(t.b, "python3 /tern/vresponder.py %s 7400" % t.b.address, 120)
    t.wait_port(t.b, 7400)
    while server.running:
        client = t.run(t.a, "timeout 60 rping -c -C 1 -a %s -p 7400" % t.b.address, 70)
        # A timeout or a crash. (After a connection rping ends with 0 or an error code.)
        if client.rc in (124, 134, 139):
            t.case("a client of a hostile server ends", False,
                   "exit code %d\n%s" % (client.rc, client.out + client.err))
            server.kill(15)
    t.take_tap(server.wait())


def run(t):
    target = t.start(t.b, "/tern/vtarget " + t.b.address, t.left())
    t.wait_port(t.b, 7301)
    server = t.start(t.b, _RPING % (t.b.address, "-s -P"), t.left())
    t.wait_port(t.b, 7200)
    client = t.start(t.a, _RPING % (t.b.address, "-c"), t.left())
    t.a.wait_until("[ -s /tmp/pings ]", timeout=20)
    for seed in t.again():
        for group in _GROUPS:
            before = _read_progress(t)
            if group == "stream":
                _limit_receive_buffer(t)
            if group == "sizes":
                # One case reports a path MTU smaller than the real one.
                t.undo = [lambda: t.run(t.b, "ip route flush cache")]
            t.take_tap(t.run(t.a, "python3 /tern/vhostile.py --seed %d %s %s" % (
                seed, t.b.address, group), 60))
            t.case("another transfer goes on during " + group,
                   _has_progress(t, before) and client.running and server.running)
            t.undo_now()
    t.run(t.a, "python3 /tern/vhostile.py --end " + t.b.address, 20)
    t.case("the server ends", t.finish(target, 10) and target.wait().rc == 0)
    client.kill(2)
    t.finish(client, 10)
    server.kill(2)
    t.finish(server, 10)
    t.pair_case("rping afterwards", rping(10, "-s -a " + t.b.address),
                rping(10, "-c -a " + t.b.address), head_start=1.5)
    _check_hostile_servers(t)
    for guest in t.guests:
        t.check_run("guest %s: rmmod" % guest.name, guest, "rmmod tern", 30)
        t.lab.add_link(guest, "iwarp")
