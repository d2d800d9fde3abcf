# SPDX-License-Identifier: GPL-2.0
"""Both processes in one guest: the same cases without packets, and by `lo` with that off."""

LIMIT = 300
QUICK = ("rc/write_imm", "rc/read", "rc/fetch_add", "rc/send/both-ways", "uc/send", "ud/send_imm")


def _verify(t, args, prefix=""):
    t.tool("vverify", args, timeout=220, prefix=prefix, at=t.a)


def run(t):
    before = t.counter(t.a, "tx_packets")
    _verify(t, "-m 'rc/*' -m 'uc/*' -m 'ud/*' -m 'rc/*/both-ways' -m 'mr/*' -m 'mw/*' -m 'srq/*' "
               "-m 'cq/*'")
    if not t.is_tern:
        return
    # Datagrams find a peer that is busy now and then, and go by the stack.
    t.note("%d packets" % (t.counter(t.a, "tx_packets") - before))
    switch = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    t.run(t.a, "echo N >" + switch, check=True)
    before = t.counter(t.a, "tx_packets")
    _verify(t, " ".join("-m " + case for case in QUICK), "by lo: ")
    t.case("switched off, it goes as packets", t.counter(t.a, "tx_packets") - before > 100)
    t.run(t.a, "echo Y >" + switch, check=True)
