# SPDX-License-Identifier: GPL-2.0
"""Every opcode, size and feature of the verbs, with every byte verified."""

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
# Messages go both ways with either.
LONG_PAIRS = ("rxe-tern",)
LIMIT = 900


def run(t):
    if t.pair == "tern-tern":
        for guest in t.guests:
            t.run(guest, "echo 16 >/proc/sys/vm/nr_hugepages")
        # The test jumbo has the longer path MTUs.
        t.tool("vverify", "-f 4 -x path/mtu-2048 -x path/mtu-4096", timeout=600)
        t.tool("vverify", "-f 6 -m 'rc/*' -m 'uc/*' -m 'ud/*' -m 'mr/iova'", timeout=120,
               prefix="ipv6/")
    else:
        # rxe gets datagrams to a group that its host has joined, as by rdma_cm: see the test rdmacm.
        # The ICRC of its FLUSH covers the headers twice, so no other driver's FLUSH reaches it.
        t.tool("vverify", "-f 4 -x 'path/16MiB*' -x path/mtu-2048 -x path/mtu-4096 -x 'scale/*' "
               "-x 'rc/poll-*' -x 'ud/group*' -x rc/flush -x 'rc/flush/*' "
               "-x '*/*/deep' -x '*/*/shallow' -x '*/*/unsignalled' -x '*/*/fence' -x srq/resize", timeout=300)
        t.tool("vverify", "-f 6 -m 'rc/*/from-server' -m 'ud/*' -x 'ud/group*'", timeout=120,
               prefix="ipv6/")
