# SPDX-License-Identifier: GPL-2.0
"""iWARP without CRCs lends memory to TCP: nothing completes before TCP has given it back.

Between namespaces of guest a (vmtest/netns.py): eth0 has no scatter-gather. With an XDP program
at its end veth is like a NIC that has it; without, the stack copies.
"""

from vmtest import netem, netns, tcp_mem

PAIRS = ("iwarp-iwarp",)
LIMIT = 120

_NETDEV = "veth0"
_ROUNDS = 250  # of four messages of 64 KiB,
_LEAST_ROUNDS = 50  # in slow guests
_ENDLESS = 10 ** 6
_LENT = "tx_zerocopy_bytes"
_NETEM = "loss 2% delay 1ms 1ms reorder 90% 25%"
_QUEUED = "tc -s qdisc show dev %s | grep -E 'backlog [1-9]'" % _NETDEV


def _want(t, crc, zerocopy):
    for guest in t.guests:
        t.run(guest, "cd /sys/module/tern/parameters; echo %s >iwarp_crc; echo %s >iwarp_zerocopy"
              % ("NY"[crc], "NY"[zerocopy]), check=True)


def _set_up(t):
    """The links, and what is found out about the other end by ARP."""
    netns.add_links(t, "tern_iwarp")
    t.run(t.a, "ping -q -c 1 -W 5 " + netns.FAR, check=True)


def _commands(rounds):
    """The server's and the client's."""
    command = "/tern/viwarp -e stream -b 65536 -n %d " % rounds
    return "ip netns exec n1 %s -l %s" % (command, netns.FAR), command + netns.FAR


def _verified(t, name, least, most):
    """And of what is sent a share is lent."""
    before = [t.counter(t.a, counter, _NETDEV) for counter in ("tx_bytes", _LENT)]
    t.pair_case(name + ": verified", *_commands(max(_LEAST_ROUNDS, _ROUNDS // t.slow)), port="cm",
                want="verified", at=t.a)
    sent, lent = (t.counter(t.a, counter, _NETDEV) - value
                  for counter, value in zip(("tx_bytes", _LENT), before))
    t.case("%s: lent" % name, least * sent <= lent <= most * sent,
           "%d of %d bytes" % (lent, sent))


def _retransmitted(t):
    return int(t.run(t.a, "nstat -asz TcpRetransSegs", check=True).out.split()[-2])


def _loss(t):
    before = _retransmitted(t)
    netem.add(t, t.a, _NETEM, _NETDEV)
    netem.add(t, t.a, _NETEM, "veth1", "n1")
    _verified(t, "loss and reordering", 0.5, 1)
    netem.remove(t, t.a, _NETDEV)
    netem.remove(t, t.a, "veth1", "n1")
    again = _retransmitted(t) - before
    t.case("TCP has sent some again", again >= 20, "%d segments" % again)


def _short_of_memory(t):
    """TCP takes a part of what it is to be lent, half of the time."""
    with tcp_mem.pressure(t, [t.a], 0.05):
        _verified(t, "TCP short of memory", 0.1, 1)


def _without_sg(t):
    """eth0's packets would be copied by the stack."""
    t.undo.append(lambda: t.run(t.a, "ethtool -K eth0 sg on"))
    t.run(t.a, "ethtool -K eth0 sg off")
    before = t.counter(t.a, _LENT)
    t.pair_case("without scatter/gather: verified", "/tern/viwarp -e stream -b 65536 -n 50",
                "/tern/viwarp -e stream -b 65536 -n 50 " + t.b.address, port="cm",
                want="verified")
    lent = t.counter(t.a, _LENT) - before
    t.case("without scatter/gather: nothing lent", not lent, "%d bytes" % lent)


def _start(t, lent):
    """An endless stream; returns (server, client) once so many bytes are lent."""
    lends = t.has_grown(t.a, _LENT, lent, _NETDEV)
    there, here = _commands(_ENDLESS)
    server = t.start(t.a, there)
    t.wait_cm_listen(t.a)
    client = t.start(t.a, here)
    t.a.wait_until(lends, timeout=20)
    return server, client


def _kills(t):
    for name in ("client", "server"):
        server, client = _start(t, 10 << 20)
        victim, other = (client, server) if name == "client" else (server, client)
        t.kill(victim)
        t.case("the other end ends too (%s killed)" % name, t.finish(other))
        left = t.lab.leaks(t.a)
        t.case("nothing is left (%s killed)" % name, not left, left)
    t.check_run("the links are deleted", t.a, "rdma link delete nsa && rdma link delete nsb")


def _module(t):
    """The module goes when no packet has its memory any more.

    The link is slow, so that much more is always posted than TCP wants at a time, and lent, but
    for TCP's first packets, which are too small. Then a packet takes 1.5 s or more.
    """
    def rate(bits):
        t.run(t.a, "tc qdisc replace dev %s root tbf rate %dbit burst 1600 limit 4mb"
              % (_NETDEV, bits / t.slow), check=True)

    rate(20e6)
    server, client = _start(t, 2 << 20)
    rate(8000)
    t.a.wait_until(_QUEUED, timeout=20)
    t.kill(client, server)
    t.case("packets outlive their QP", t.run(t.a, _QUEUED).ok)
    removal = t.start(t.a, "rmmod tern")
    t.sleep(3)
    t.case("the module waits for them", removal.running and t.run(t.a, _QUEUED).ok,
           removal.output())
    t.run(t.a, "tc qdisc del dev %s root" % _NETDEV, check=True)
    t.case("and goes when they have", t.finish(removal) and removal.wait().ok, removal.output())
    t.lab.add_link(t.a, "iwarp")


def run(t):
    t.undo = [lambda: t.run(t.a, netns.DOWN), lambda: _want(t, True, True)]
    t.run(t.a, netns.UP + netns.XDP, check=True)
    _set_up(t)
    _want(t, False, True)
    _verified(t, "as it is", 0.5, 1)
    _loss(t)
    _short_of_memory(t)
    _without_sg(t)
    _want(t, False, False)
    _verified(t, "iwarp_zerocopy=N, nothing", 0, 0)
    _want(t, True, True)
    _verified(t, "CRCs, nothing", 0, 0)
    _want(t, False, True)
    _kills(t)
    _set_up(t)
    _module(t)
    _set_up(t)
    _want(t, False, True)
    _verified(t, "loaded again", 0.5, 1)
    t.run(t.a, netns.NO_XDP, check=True)
    _verified(t, "to a receiver on the same host, hardly any", 1e-6, 0.1)
