# SPDX-License-Identifier: GPL-2.0
"""A netdev with jumbo frames: the port's MTU follows, and path MTUs 2048 and 4096 work."""

PAIRS = ("tt", "tx", "xt")
LONG_PAIRS = ("tx", "xt")
LIMIT = 150


def run(t):
    for guest in t.guests:
        t.run(guest, "ip link set eth0 mtu 4200", check=True)
    try:
        for guest in t.guests:
            device = t.dev(guest)
            guest.wait_until("ibv_devinfo -d %s | grep -q 'active_mtu:.*4096'" % device, timeout=10)
        t.case("the port's MTU follows the netdev's", True)
        t.tool("vverify", "-m 'path/mtu-*' -m rc/write -m rc/read -m ud/send", timeout=120)
    finally:
        for guest in t.guests:
            t.run(guest, "ip link set eth0 mtu 1500")
