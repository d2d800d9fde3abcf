# SPDX-License-Identifier: GPL-2.0
"""Malformed packets from a hostile peer: nothing breaks, nothing is logged, traffic goes on."""

import re

LIMIT = 300


def _qpns(t):
    """Numbers of QPs that exist in guest b now."""
    out = t.run(t.b, "rdma resource show qp").out
    return [int(n) for n in re.findall(r"lqpn (\d+)", out)]


def run(t):
    # QPs that exist and wait for packets: RC, UC and UD ones.
    seconds = t.length(90)
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t 30" % seconds, seconds + 190)
    t.sleep(4)
    numbers = [n for n in _qpns(t) if n > 1][:6]
    t.case("there are QPs to attack", numbers)
    # Few live ones: an attacker who guesses QPN and PSN may break a connection (RC has no
    # secret but these), so the live traffic is judged by how it ends, not by its success.
    for seed in t.again():
        for family, (source, target) in {"ipv4": (t.a.address, t.b.address),
                                         "ipv6": (t.a.address6, t.b.address6)}.items():
            for what in ("opcodes", "lengths", "floods"):
                options = " ".join("--qpn %d" % n for n in numbers[:2])
                t.check_run("%s %s are sent" % (family, what), t.a,
                            "python3 /tern/vattack.py --seed %d %s %s %s %s" % (
                                seed, options, source, target, what), 120)
    t.kill(client)
    t.finish(server, 60)
    t.tool("vverify", "-m 'rc/*' -m 'ud/*' -x rc/send_imm -x rc/write_imm", timeout=100,
           prefix="afterwards: ")
    t.check_run("the guest's kernel still answers", t.b, "dmesg >/dev/null && rdma link", 20)
