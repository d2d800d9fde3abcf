# SPDX-License-Identifier: GPL-2.0
"""The programs of librdmacm: rping, ucmatose, udaddy, rdma_client/rdma_server, mckey."""

PAIRS = ("tt", "tx", "xt")
LONG_PAIRS = ("tx", "xt")
LIMIT = 150


def run(t):
    host, host6 = t.b.address, t.b.address6
    t.pair_case("rping ipv4", "rping -s -C 20 -V -a " + host, "rping -c -C 20 -V -a " + host)
    t.pair_case("rping ipv6", "rping -s -C 20 -V -a " + host6, "rping -c -C 20 -V -a " + host6)
    t.pair_case("rping 60000 bytes", "rping -s -C 10 -V -S 60000 -a " + host,
                "rping -c -C 10 -V -S 60000 -a " + host)
    t.pair_case("rping in a persistent server, twice",
                "timeout -s INT 6 rping -s -P -a %s; true" % host,
                "rping -c -C 5 -V -a %s && rping -c -C 5 -V -a %s" % (host, host))
    t.pair_case("ucmatose", "ucmatose -c 5 -C 10 -S 4096",
                "ucmatose -c 5 -C 10 -S 4096 -s " + host)
    t.pair_case("udaddy", "udaddy -c 2 -C 10 -S 512", "udaddy -c 2 -C 10 -S 512 -s " + host)
    t.pair_case("rdma_client and rdma_server", "rdma_server", "rdma_client -s " + host)
    t.pair_case("mckey", "timeout 20 mckey -m 239.77.0.1 -b %s -C 5" % host,
                "sleep 1; timeout 20 mckey -s -m 239.77.0.1 -b %s -C 5" % t.a.address,
                timeout=40)
