# SPDX-License-Identifier: GPL-2.0
"""iWARP: ends killed, links and modules removed under load, peers that never speak MPA."""

from riglib.rping import rping

PAIRS = ("iwarp-iwarp",)
LIMIT = 300


def _load(t):
    """An endless transfer; returns (server, client) once it runs."""
    both = t.endless("ib_write_bw -R -F --run_infinitely -s 65536",
                     "rdma resource show qp | grep -q 'state RTS'")
    t.sleep(2)
    return both


def _ends(t, name, *commands):
    for command in commands:
        t.finish(command, 5)
    t.case(name, True)


def _works(t, after):
    t.pair_case("rping after " + after, rping(5, "-s -a " + t.b.address),
                rping(5, "-c -a " + t.b.address), port="cm")


def _kills(t):
    for name in ("client", "server"):
        server, client = _load(t)
        victim, other = (client, server) if name == "client" else (server, client)
        t.kill(victim)
        guest = t.b if name == "client" else t.a
        guest.wait_until("! rdma resource show qp | grep -q 'state RTS'", timeout=20)
        t.case("the peer of a killed %s leaves RTS" % name, True)
        t.kill(other)
        _works(t, "a killed " + name)


def _removals(t):
    # The tests after this one want IPv6 as well.
    t.run(t.b, "sysctl -qw net.ipv6.conf.eth0.keep_addr_on_down=1", check=True)
    for what, name in (("rdma link delete %s", "the link"), ("ip link set eth0 down", "the netdev")):
        server, client = _load(t)
        t.check_run("%s goes under load" % name, t.b, what % t.dev(t.b) if "%" in what else what)
        t.sleep(1)
        # QEMU writes to its peer with everything stopped, so a guest whose packets nobody
        # takes does not answer.
        t.run(t.b, "ip link set eth0 up")
        t.kill(server, client)
        for guest in t.guests:
            t.lab.add_link(guest, "iwarp")
        t.b.wait_until("ping -c 1 -W 1 %s" % t.a.address, timeout=30)
        _works(t, name + " came back")


def _module(t):
    server, client = _load(t)
    t.kill(server, client)
    for guest in t.guests:
        t.check_run("the module goes right after (%s)" % guest.name, guest, "rmmod tern", 30)
        t.lab.add_link(guest, "iwarp")
    _works(t, "the module came back")


def _strangers(t):
    """TCP connections that are no MPA: closed at once, or when their time is up."""
    server = t.start(t.b, "rping -s -P -a %s -p 7200" % t.b.address, 120)
    t.wait_port(t.b, 7200)
    t.check_run("strangers connect", t.a, r"""python3 - <<'E'
import os, socket, time
def to():
    s = socket.create_connection(("%s", 7200), 5)
    s.settimeout(15)
    return s
def closed(s):
    try:
        return s.recv(4096) == b""
    except ConnectionResetError:
        return True
s = to(); s.sendall(b"GET / HTTP/1.0"); assert closed(s), "not MPA at all"
for _ in range(50):
    s = to(); s.sendall(os.urandom(64)); assert closed(s), "random bytes"
s = to(); s.sendall(b"MPA ID Req Frame" + bytes([0x40, 9, 0, 0])); assert closed(s), "revision 9"
s = to(); s.sendall(b"MPA ID Req Frame" + bytes([0x40, 1, 255, 255])); assert closed(s), "length"
s = to(); s.sendall(b"MPA ID Rep Frame" + bytes([0x40, 1, 0, 0])); assert closed(s), "a reply"
silent = [to() for _ in range(8)]
slow = to(); began = time.time()
try:
    for byte in b"MPA ID Req Frame" * 4:
        slow.sendall(bytes([byte])); time.sleep(1)
        if time.time() - began > 14: break
except (BrokenPipeError, ConnectionResetError):
    pass
for s in silent:
    assert closed(s), "silent"
print("all closed")
E""" % t.b.address, 90)
    t.pair_case("rping after strangers", "true", rping(5, "-c -p 7200 -a " + t.b.address))
    server.kill(2)
    t.finish(server, 20)


def run(t):
    _kills(t)
    _removals(t)
    _module(t)
    _strangers(t)
