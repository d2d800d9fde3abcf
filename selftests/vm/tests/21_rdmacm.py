# SPDX-License-Identifier: GPL-2.0
"""The programs of librdmacm: rping, ucmatose, udaddy, rdma_client/rdma_server, mckey."""

from riglib.rping import rping

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
LIMIT = 150


def run(t):
    host, host6 = t.b.address, t.b.address6
    for name, count, options, address in (("ipv4", 20, "", host), ("ipv6", 20, "", host6),
                                          ("60000 bytes", 10, "-S 60000 ", host)):
        t.pair_case("rping " + name, rping(count, "-s %s-a %s" % (options, address)),
                    rping(count, "-c %s-a %s" % (options, address)), port="cm")
    t.pair_case("rping in a persistent server, twice",
                "timeout -s INT %d rping -s -P -a %s; true" % (6 * t.slow, host),
                "(%s) && (%s)" % (rping(5, "-c -a " + host), rping(5, "-c -a " + host)), port="cm")
    t.pair_case("ucmatose", "ucmatose -c 5 -C 10 -S 4096",
                "ucmatose -c 5 -C 10 -S 4096 -s " + host, port="cm")
    t.pair_case("udaddy", "udaddy -c 2 -C 10 -S 512", "udaddy -c 2 -C 10 -S 512 -s " + host,
                port="cm")
    t.pair_case("rdma_client and rdma_server", "rdma_server", "rdma_client -s " + host, port="cm")
    if t.pair == "tern-tern":
        # rxe has no XRC.
        t.pair_case("rdma_xclient and rdma_xserver", "rdma_xserver -c x",
                    "rdma_xclient -c x -s " + host, port="cm")
    # Datagrams that arrive before the server has joined are lost, and no output shows when it has.
    t.pair_case("mckey", "timeout %d mckey -m 239.77.0.1 -b %s -C 5" % (25 * t.slow, host),
                "for i in 1 2 3; do sleep %d; timeout %d mckey -s -m 239.77.0.1 -b %s -C 5 || "
                "exit; done" % (t.slow, 20 * t.slow, t.a.address), timeout=60)
