# SPDX-License-Identifier: GPL-2.0
"""Jumbo frames: the port's MTU follows the netdev's, and path MTUs 2048 and 4096 work.

If only one end has jumbo frames, rdma_cm offers the client's path MTU. A server with a larger MTU
uses that, one with a smaller MTU takes what it can receive.
"""

from riglib.rping import rping

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
LONG_PAIRS = ("tern-rxe", "rxe-tern")
LIMIT = 150


def _check_one_sided(t):
    mtu = "ip link set eth0 mtu %d"
    for name, client, server, count in (("the client", 4200, 1500, "-S 500 "),
                                        ("the server", 1500, 4200, "-S 60000 ")):
        t.run(t.a, mtu % client, check=True)
        t.run(t.b, mtu % server, check=True)
        t.pair_case("only %s has jumbo frames: rping" % name, rping(5, count + "-s -a " + t.b.address),
                    rping(5, count + "-c -a " + t.b.address), port="cm")


def run(t):
    for guest in t.guests:
        t.run(guest, "ip link set eth0 mtu 4200", check=True)
    try:
        for guest in t.guests:
            device = t.dev(guest)
            guest.wait_until("ibv_devinfo -d %s | grep -q 'active_mtu:.*4096'" % device, timeout=10)
        t.case("the port's MTU follows the netdev's", True)
        t.tool("vverify", "-m 'path/mtu-*' -m rc/write -m rc/read -m ud/send", timeout=120)
        if t.pair == "tern-tern" and t.is_tern:
            _check_one_sided(t)
    finally:
        for guest in t.guests:
            t.run(guest, "ip link set eth0 mtu 1500")
