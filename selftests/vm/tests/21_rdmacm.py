# SPDX-License-Identifier: GPL-2.0
"""The programs of librdmacm: rping, ucmatose, udaddy, rdma_client/rdma_server, mckey."""

from riglib.rping import rping
from vmtest import mckey

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
LIMIT = 150


def run(t):
    host, host6 = t.b.address, t.b.address6
    for name, count, options, address in (("ipv4", 20, "", host), ("ipv6", 20, "", host6),
                                          ("60000 bytes", 10, "-S 60000 ", host)):
        t.pair_case("rping " + name, rping(count, "-s %s-a %s" % (options, address)),
                    rping(count, "-c %s-a %s" % (options, address)), port="cm")
    server = t.start(t.b, "exec rping -s -P -a " + host)
    t.wait_cm_listen(t.b)
    t.check_run("rping in a persistent server, twice", t.a,
                "(%s) && (%s)" % (rping(5, "-c -a " + host), rping(5, "-c -a " + host)), 60)
    t.kill(server, signal=2)
    t.pair_case("ucmatose", "ucmatose -c 5 -C 10 -S 4096",
                "ucmatose -c 5 -C 10 -S 4096 -s " + host, port="cm")
    t.pair_case("udaddy", "udaddy -c 2 -C 10 -S 512", "udaddy -c 2 -C 10 -S 512 -s " + host,
                port="cm")
    t.pair_case("rdma_client and rdma_server", "rdma_server", "rdma_client -s " + host, port="cm")
    if t.pair == "tern-tern":
        # rxe has no XRC.
        t.pair_case("rdma_xclient and rdma_xserver", "rdma_xserver -c x",
                    "rdma_xclient -c x -s " + host, port="cm")
    mckey.check(t, "mckey")
