# SPDX-License-Identifier: GPL-2.0
"""Spoofing: local QPs that claim to be a peer, users who read PSNs, forged packets."""

import os
import re

from vmtest import where

LIMIT = 200
_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups "
_PACKETS = 16
_FLOOD = 4000
_NO_RULES = "nft delete table inet roce; true"


def _read_psns(t, how):
    """{QPN: (rq_psn, sq_psn)} of connected QPs as guest b shows them."""
    out = t.run(t.b, how + "rdma resource show qp", check=True).out
    return {qpn: (rq, sq) for qpn, rq, sq in re.findall(
        r" lqpn (\d+).* type RC .*rq-psn (\d+).* sq-psn (\d+)", out)}


def _check_psns(t):
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t 20" % (5 * t.slow))
    t.b.wait_until("rdma resource show qp | grep -q 'type RC state RTS'", timeout=10)
    root, nobody = _read_psns(t, ""), _read_psns(t, _NOBODY)
    t.take_tap(client.wait(), "beside rdma resource: ")
    t.finish(server)
    t.case("root sees the PSNs of QPs", any(psns != ("0", "0") for psns in root.values()), root)
    t.case("users without CAP_NET_ADMIN see QPs, and no PSNs",
           nobody and all(psns == ("0", "0") for psns in nobody.values()), nobody)


def _check_own_address(t):
    mac = t.run(t.b, "cat /sys/class/net/eth0/address", check=True).out.strip()
    before = t.counters(t.b)
    t.run(t.a, "python3 /tern/vforge.py claims eth0 %s %s" % (mac, t.b.address6), check=True)
    t.sleep(0.5)
    moved = t.counted_since(t.b, before)
    t.case("IPv6 packets from the wire with our own source address reach no QP",
           moved["rx_bad_path"] == _PACKETS and not moved["rx_packets"], moved)


def _send_forged(t, target):
    """Send datagrams as user nobody of guest a; returns how b's counters grew."""
    before = t.counters(t.b)
    t.run(t.a, _NOBODY + "python3 /tern/vforge.py datagrams " + target, check=True)
    t.sleep(0.5)
    return t.counted_since(t.b, before)


def _check_busy_qps(t):
    """Guest a, which is not their peer, sends packets to busy QPs of b."""
    command = "ib_write_bw -F -D 60 -l 8 -t 8 -s 1048576 -d %s -x %d" % (
        t.dev(t.b), t.gid_index(t.b, t.b.address))
    ends = [t.start(t.b, command, 100)]
    t.wait_port(t.b, 18515)
    ends.append(t.start(t.b, "%s %s" % (command, t.b.address), 100))
    try:
        t.b.wait_until(t.has_grown(t.b, "local_bytes", 64 << 20), timeout=30)
        qpns = list(_read_psns(t, ""))
        before = t.counters(t.b)
        for qpn in qpns:
            t.run(t.a, "python3 /tern/vforge.py datagrams %s %s %d" % (t.b.address, qpn, _FLOOD),
                  timeout=60, check=True)
        moved = t.counted_since(t.b, before)
        running = all(end.running for end in ends)
    finally:
        t.kill(*ends)
    t.case("packets that are not from the peer reach busy QPs", running and len(qpns) == 2 and
           moved["local_bytes"] and moved["rx_bad_path"] > _FLOOD, moved)
    t.case("they do not wait in the QPs' backlog", not moved["rx_waited"], moved)


def _read_rules():
    """The firewall rules that Documentation/roce.md recommends."""
    with open(os.path.join(where.TOP, "Documentation", "roce.md"), encoding="utf-8") as f:
        return re.search(r"^( *)table inet roce \{\n.*?^\1\}\n", f.read(), re.M | re.S).group(0)


def _check_firewall(t):
    for target in (t.b.address, t.b.address6):
        moved = _send_forged(t, target)
        t.case("%s: any user's UDP socket can send RoCE packets" % target,
               moved["rx_no_qp"] == _PACKETS and not moved["rx_icrc_encapsulated"], moved)
    if t.run(t.a, "nft -f - <<'END'\n%sEND" % _read_rules()).rc:
        t.skip("a firewall against that", "no nft, or no nftables in this kernel")
        return
    for target in (t.b.address, t.b.address6):
        moved = _send_forged(t, target)
        t.case("%s: with the rule user nobody's packets do not leave" % target,
               not moved["rx_no_qp"], moved)
    dropped = t.run(t.a, "nft list table inet roce").out
    t.case("the rule dropped them", "packets %d " % (2 * _PACKETS) in dropped, dropped)
    t.tool("vverify", "-m rc/send -m ud/send -m rc/read", timeout=60, prefix="with the rule: ")


def run(t):
    if not t.is_tern:
        t.skip("spoofing", "only tern is tested for it")
        return
    t.undo = [lambda: t.run(t.a, _NO_RULES)]
    t.check_run("a local QP that names another QP's peer", t.a, "/tern/vspoof -n eth0", 60)
    _check_psns(t)
    _check_own_address(t)
    _check_busy_qps(t)
    _check_firewall(t)
