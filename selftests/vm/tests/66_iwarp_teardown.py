# SPDX-License-Identifier: GPL-2.0
"""iWARP: ends are killed, links and the module removed under load; TCP clients do not speak MPA."""

from riglib.rping import rping

PAIRS = ("iwarp-iwarp",)
LIMIT = 300


def _start_load(t):
    """Start an endless transfer; returns (server, client) once it runs."""
    both = t.endless("ib_write_bw -R -F --run_infinitely -s 65536",
                     "rdma resource show qp | grep -q 'state RTS'")
    t.sleep(2)
    return both



def _check_rping(t, after):
    t.pair_case("rping after " + after, rping(5, "-s -a " + t.b.address),
                rping(5, "-c -a " + t.b.address), port="cm")


def _check_kills(t):
    for name in ("client", "server"):
        server, client = _start_load(t)
        victim, other = (client, server) if name == "client" else (server, client)
        t.kill(victim)
        guest = t.b if name == "client" else t.a
        guest.wait_until("! rdma resource show qp | grep -q 'state RTS'", timeout=20)
        t.case("the peer of a killed %s leaves RTS" % name, True)
        t.kill(other)
        _check_rping(t, "a killed " + name)


def _check_removals(t):
    # Later tests need the IPv6 address, too.
    t.run(t.b, "sysctl -qw net.ipv6.conf.eth0.keep_addr_on_down=1", check=True)
    for what, name in (("rdma link delete %s", "the link"), ("ip link set eth0 down", "the netdev")):
        server, client = _start_load(t)
        t.check_run("%s goes away under load" % name, t.b, what % t.dev(t.b) if "%" in what else what)
        t.sleep(1)
        # QEMU stops the guest while it writes to its peer, so a guest whose packets are not
        # read does not answer.
        t.run(t.b, "ip link set eth0 up")
        t.kill(server, client)
        for guest in t.guests:
            t.lab.add_link(guest, "iwarp")
        t.b.wait_until("ping -c 1 -W 1 %s" % t.a.address, timeout=30)
        _check_rping(t, name + " came back")


def _check_rmmod(t):
    server, client = _start_load(t)
    t.kill(server, client)
    for guest in t.guests:
        t.check_run("rmmod right after a kill (%s)" % guest.name, guest, "rmmod tern", 30)
        t.lab.add_link(guest, "iwarp")
    _check_rping(t, "the module was loaded again")


def _check_bad_clients(t):
    """TCP connections without MPA are closed at once, or when the time limit ends."""
    server = t.start(t.b, "rping -s -P -a %s -p 7200" % t.b.address, 120)
    t.wait_port(t.b, 7200)
    t.check_run("TCP clients without MPA are disconnected", t.a, r"""python3 - <<'E'
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
    t.pair_case("rping after them", "true", rping(5, "-c -p 7200 -a " + t.b.address))
    server.kill(2)
    t.finish(server, 20)


def run(t):
    _check_kills(t)
    _check_removals(t)
    _check_rmmod(t)
    _check_bad_clients(t)
