# SPDX-License-Identifier: GPL-2.0
"""A hostile peer sends malformed packets: nothing breaks, nothing is logged, traffic goes on."""

import re

LIMIT = 300


def _read_qpns(t):
    """The numbers of guest b's QPs."""
    out = t.run(t.b, "rdma resource show qp").out
    return [int(n) for n in re.findall(r"lqpn (\d+)", out)]


def run(t):
    # Traffic with RC, UC and UD QPs that receive packets.
    seconds = t.length(90)
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t 30" % seconds, seconds + 190)
    t.sleep(4)
    numbers = [n for n in _read_qpns(t) if n > 1][:6]
    t.case("there are QPs to attack in guest b", numbers)
    # Only two of the QPs in use: an attacker with the right QPN and PSN may break a connection, as
    # RC has no other secret. So that traffic has to end, and need not succeed.
    options = " ".join("--qpn %d" % n for n in numbers[:2])
    mac = t.run(t.b, "cat /sys/class/net/eth0/address", check=True).out.strip()
    ways = {"ipv4": "%s %s" % (t.a.address, t.b.address),
            "ipv6": "%s %s" % (t.a.address6, t.b.address6)}
    if t.is_tern:
        ways["v1"] = "--v1 eth0 %s %s" % (mac, ways["ipv4"])
    for seed in t.again():
        for family, way in ways.items():
            for what in ("opcodes", "lengths", "floods"):
                t.check_run("%s %s are sent" % (family, what), t.a,
                            "python3 /tern/vattack.py --seed %d %s %s %s" % (
                                seed, options, way, what), 120)
    t.kill(client)
    t.finish(server, 60)
    t.tool("vverify", "-m rc/send -m rc/write -m rc/read -m rc/fetch_add -m rc/cmp_swap -m uc/send "
           "-m ud/send -m ud/answer", timeout=100, prefix="afterwards: ")
    t.check_run("guest b's kernel still works", t.b, "dmesg >/dev/null && rdma link", 20)
