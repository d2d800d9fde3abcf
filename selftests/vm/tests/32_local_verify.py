# SPDX-License-Identifier: GPL-2.0
"""Both processes in one guest: vverify's cases by the local path, and over `lo` without it."""

LIMIT = 300
QUICK = ("rc/write_imm", "rc/read", "rc/fetch_add", "rc/send/both-ways", "uc/send", "ud/send_imm",
         "xrc/send", "xrc/read")


def _run_verify(t, args, prefix=""):
    t.tool("vverify", args, timeout=220, prefix=prefix, at=t.a)


def run(t):
    before = t.counter(t.a, "tx_packets")
    _run_verify(t, "-m 'rc/*' -m 'uc/*' -m 'ud/*' -m 'rc/*/both-ways' -m 'mr/*' -m 'mw/*' -m 'srq/*' "
                "-m 'cq/*' -m 'xrc/*' -m rate/rc-write -m rate/ud-send "
                "-m 'odp/*datagram*' -m odp/datagrams-received/srq -m odp/late-receive")
    if not t.is_tern:
        return
    # A datagram whose receiver is busy goes as a packet, so a few packets are right.
    t.note("%d packets" % (t.counter(t.a, "tx_packets") - before))
    switch = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    t.run(t.a, "echo N >" + switch, check=True)
    before = t.counter(t.a, "tx_packets")
    _run_verify(t, " ".join("-m " + case for case in QUICK), "by lo: ")
    t.case("local switched off: traffic goes as packets", t.counter(t.a, "tx_packets") - before > 100)
    t.run(t.a, "echo Y >" + switch, check=True)
