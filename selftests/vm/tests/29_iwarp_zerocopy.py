# SPDX-License-Identifier: GPL-2.0
"""iWARP's zero-copy send, without CRCs: no request completes while TCP still has its memory.

Runs between namespaces of guest a (vmtest/netns.py), as eth0 has no scatter/gather. An XDP program
at the far end makes veth behave like a NIC with scatter/gather. Without it the stack copies.
"""

from vmtest import netem, netns, tcp_mem

PAIRS = ("iwarp-iwarp",)
LIMIT = 120

_NETDEV = "veth0"
# Of four messages of 64 KiB. The more come with loss, so that TCP retransmits.
_ROUNDS = 80
_ROUNDS_WITH_LOSS = 250
_LEAST_ROUNDS = 50  # in slow guests
_ENDLESS = 10 ** 6
_LENT = "tx_zerocopy_bytes"
_NETEM = "loss 2% delay 1ms 1ms reorder 90% 25%"
_QUEUED = "tc -s qdisc show dev %s | grep -E 'backlog [1-9]'" % _NETDEV


def _set_parameters(t, crc, zerocopy):
    for guest in t.guests:
        t.run(guest, "cd /sys/module/tern/parameters; echo %s >iwarp_crc; echo %s >iwarp_zerocopy"
              % ("NY"[crc], "NY"[zerocopy]), check=True)


def _add_links(t):
    """Add the links, and let ARP find the other end."""
    netns.add_links(t, "tern_iwarp")
    t.run(t.a, "ping -q -c 1 -W 5 " + netns.FAR, check=True)


def _make_commands(rounds):
    """The server's and the client's command."""
    command = "/tern/viwarp -e stream -b 65536 -n %d " % rounds
    return "ip netns exec n1 %s -l %s" % (command, netns.FAR), command + netns.FAR


def _check_verified(t, name, least, most, rounds=_ROUNDS):
    """Move verified data. Zero-copy sends at least and at most these shares of the bytes."""
    before = [t.counter(t.a, counter, _NETDEV) for counter in ("tx_bytes", _LENT)]
    t.pair_case(name + ": verified", *_make_commands(max(_LEAST_ROUNDS, rounds // t.slow)), port="cm",
                want="verified", at=t.a)
    sent, lent = (t.counter(t.a, counter, _NETDEV) - value
                  for counter, value in zip(("tx_bytes", _LENT), before))
    t.case("%s: share of zero-copy bytes" % name, least * sent <= lent <= most * sent,
           "%d of %d bytes" % (lent, sent))


def _count_retransmitted(t):
    return int(t.run(t.a, "nstat -asz TcpRetransSegs", check=True).out.split()[-2])


def _check_loss(t):
    before = _count_retransmitted(t)
    netem.add(t, t.a, _NETEM, _NETDEV)
    netem.add(t, t.a, _NETEM, "veth1", "n1")
    _check_verified(t, "loss and reordering", 0.5, 1, _ROUNDS_WITH_LOSS)
    netem.remove(t, t.a, _NETDEV)
    netem.remove(t, t.a, "veth1", "n1")
    again = _count_retransmitted(t) - before
    t.case("TCP has retransmitted", again >= 20, "%d segments" % again)


def _check_memory_pressure(t):
    """Half of the time TCP accepts only a part of the pages."""
    with tcp_mem.pressure(t, [t.a], 0.05):
        _check_verified(t, "TCP under memory pressure", 0.1, 1)


def _check_without_sg(t):
    """On a netdev without scatter/gather the stack would copy, so zero-copy is not used."""
    t.undo.append(lambda: t.run(t.a, "ethtool -K eth0 sg on"))
    t.run(t.a, "ethtool -K eth0 sg off")
    before = t.counter(t.a, _LENT)
    t.pair_case("without scatter/gather: verified", "/tern/viwarp -e stream -b 65536 -n 50",
                "/tern/viwarp -e stream -b 65536 -n 50 " + t.b.address, port="cm",
                want="verified")
    lent = t.counter(t.a, _LENT) - before
    t.case("without scatter/gather: no zero-copy", not lent, "%d bytes" % lent)


def _start_stream(t, lent):
    """Start an endless stream; returns (server, client) after `lent` bytes of zero-copy."""
    lends = t.has_grown(t.a, _LENT, lent, _NETDEV)
    there, here = _make_commands(_ENDLESS)
    server = t.start(t.a, there)
    t.wait_cm_listen(t.a)
    client = t.start(t.a, here)
    t.a.wait_until(lends, timeout=20)
    return server, client


def _check_kills(t):
    for name in ("client", "server"):
        server, client = _start_stream(t, 10 << 20)
        victim, other = (client, server) if name == "client" else (server, client)
        t.kill(victim)
        t.case("%s killed: the other end ends too" % name, t.finish(other))
        left = t.lab.leaks(t.a)
        t.case("%s killed: no object is left" % name, not left, left)
    t.check_run("the links are deleted", t.a, "rdma link delete nsa && rdma link delete nsb")


def _check_unload(t):
    """rmmod waits until no packet refers to zero-copy memory.

    The link is slow, so that more is posted than TCP takes at a time and is sent by zero-copy,
    except for TCP's first packets, which are too small. Then one packet takes 1.5 s or more.
    """
    def rate(bits):
        t.run(t.a, "tc qdisc replace dev %s root tbf rate %dbit burst 1600 limit 4mb"
              % (_NETDEV, bits / t.slow), check=True)

    rate(20e6)
    server, client = _start_stream(t, 2 << 20)
    rate(8000)
    t.a.wait_until(_QUEUED, timeout=20)
    t.kill(client, server)
    t.case("packets are queued after their QP has ended", t.run(t.a, _QUEUED).ok)
    removal = t.start(t.a, "rmmod tern")
    t.sleep(3)
    t.case("rmmod waits for them", removal.running and t.run(t.a, _QUEUED).ok,
           removal.output())
    t.run(t.a, "tc qdisc del dev %s root" % _NETDEV, check=True)
    t.case("rmmod ends when they have left", t.finish(removal) and removal.wait().ok, removal.output())
    t.lab.add_link(t.a, "iwarp")


def run(t):
    t.undo = [lambda: t.run(t.a, netns.DOWN), lambda: _set_parameters(t, True, True)]
    t.run(t.a, netns.UP + netns.XDP, check=True)
    _add_links(t)
    _set_parameters(t, False, True)
    _check_verified(t, "default", 0.5, 1)
    _check_loss(t)
    _check_memory_pressure(t)
    _check_without_sg(t)
    _set_parameters(t, False, False)
    _check_verified(t, "iwarp_zerocopy=N, none", 0, 0)
    _set_parameters(t, True, True)
    _check_verified(t, "with CRCs, none", 0, 0)
    _set_parameters(t, False, True)
    _check_kills(t)
    _add_links(t)
    _check_unload(t)
    _add_links(t)
    _set_parameters(t, False, True)
    _check_verified(t, "module loaded again", 0.5, 1)
    t.run(t.a, netns.NO_XDP, check=True)
    _check_verified(t, "receiver on the same host, hardly any", 1e-6, 0.1)
