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
    server, client = t.tool_start("vverify", "-m scale/mixed -S 90 -t 30", 280)
    t.sleep(4)
    numbers = [n for n in _qpns(t) if n > 1][:6]
    t.case("there are QPs to attack", numbers)
    # Few live ones: an attacker who guesses QPN and PSN may break a connection (RC has no
    # secret but these), so the live traffic is judged by how it ends, not by its success.
    for family, (source, target) in {"ipv4": (t.a.address, t.b.address),
                                     "ipv6": (t.a.address6, t.b.address6)}.items():
        for what in ("opcodes", "lengths", "floods"):
            options = " ".join("--qpn %d" % n for n in numbers[:2])
            t.check_run("%s %s are sent" % (family, what), t.a,
                        "python3 /tern/vattack.py %s %s %s %s" % (options, source, target, what),
                        120)
    # The address by which the stack of IPv4 finds sockets of IPv6: GRO looks before it is dropped.
    t.run(t.a, "sysctl -qw net.ipv4.conf.all.route_localnet=1 && "
               "ip route add 127.0.0.6 via %s dev eth0 table local" % t.b.address)
    t.check_run("ipv4 packets for a socket of ipv6 are sent", t.a,
                "python3 /tern/vattack.py %s 127.0.0.6 floods" % t.a.address, 60)
    t.run(t.a, "ip route del 127.0.0.6 table local; sysctl -qw net.ipv4.conf.all.route_localnet=0")
    client.kill(9)
    client.wait(timeout=30)
    t.finish(server, 60)
    t.tool("vverify", "-m 'rc/*' -m 'ud/*' -x rc/send_imm -x rc/write_imm", timeout=100,
           prefix="afterwards: ")
    t.check_run("the guest's kernel still answers", t.b, "dmesg >/dev/null && rdma link", 20)
