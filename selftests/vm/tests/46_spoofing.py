# SPDX-License-Identifier: GPL-2.0
"""Who is not the peer: other local QPs, users who look at PSNs, and forged packets."""

import os
import re

from vmtest import where

LIMIT = 200
_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups "
_PACKETS = 16
_FLOOD = 4000
_NO_RULES = "nft delete table inet roce; true"


def _psns(t, how):
    """{QPN: (rq_psn, sq_psn)} of what guest b shows of connected QPs."""
    out = t.run(t.b, how + "rdma resource show qp", check=True).out
    return {qpn: (rq, sq) for qpn, rq, sq in re.findall(
        r" lqpn (\d+).* type RC .*rq-psn (\d+).* sq-psn (\d+)", out)}


def _look_at_psns(t):
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t 20" % (5 * t.slow))
    t.b.wait_until("rdma resource show qp | grep -q 'type RC state RTS'", timeout=10)
    root, nobody = _psns(t, ""), _psns(t, _NOBODY)
    t.take_tap(client.wait(), "looked at: ")
    t.finish(server)
    t.case("root sees the PSNs of QPs", any(psns != ("0", "0") for psns in root.values()), root)
    t.case("who has no right sees QPs, and no PSNs",
           nobody and all(psns == ("0", "0") for psns in nobody.values()), nobody)


def _claim_to_be_us(t):
    mac = t.run(t.b, "cat /sys/class/net/eth0/address", check=True).out.strip()
    before = t.counters(t.b)
    t.run(t.a, "python3 /tern/vforge.py claims eth0 %s %s" % (mac, t.b.address6), check=True)
    t.sleep(0.5)
    moved = t.counted_since(t.b, before)
    t.case("IPv6 packets by the wire that claim to come from here reach no QP",
           moved["rx_bad_path"] == _PACKETS and not moved["rx_packets"], moved)


def _forged(t, target):
    """What comes in b of what nobody, in a, sends by a UDP socket."""
    before = t.counters(t.b)
    t.run(t.a, _NOBODY + "python3 /tern/vforge.py datagrams " + target, check=True)
    t.sleep(0.5)
    return t.counted_since(t.b, before)


def _busy(t):
    """QPs of b that are run all the time, for what they write to each other; a is nobody to them."""
    command = "ib_write_bw -F -D 60 -l 8 -t 8 -s 1048576 -d %s -x %d" % (
        t.dev(t.b), t.gid_index(t.b, t.b.address))
    ends = [t.start(t.b, command, 100)]
    t.wait_port(t.b, 18515)
    ends.append(t.start(t.b, "%s %s" % (command, t.b.address), 100))
    try:
        t.b.wait_until(t.has_grown(t.b, "local_bytes", 64 << 20), timeout=30)
        qpns = list(_psns(t, ""))
        before = t.counters(t.b)
        for qpn in qpns:
            t.run(t.a, "python3 /tern/vforge.py datagrams %s %s %d" % (t.b.address, qpn, _FLOOD),
                  timeout=60, check=True)
        moved = t.counted_since(t.b, before)
        running = all(end.running for end in ends)
    finally:
        t.kill(*ends)
    t.case("packets of strangers come to busy QPs", running and len(qpns) == 2 and
           moved["local_bytes"] and moved["rx_bad_path"] > _FLOOD, moved)
    t.case("they do not wait there", not moved["rx_waited"], moved)


def _rules():
    """Of the page that recommends them."""
    with open(os.path.join(where.TOP, "Documentation", "roce.md"), encoding="utf-8") as f:
        return re.search(r"^( *)table inet roce \{\n.*?^\1\}\n", f.read(), re.M | re.S).group(0)


def _firewall(t):
    for target in (t.b.address, t.b.address6):
        moved = _forged(t, target)
        t.case("%s: anybody's UDP socket can send RoCE packets" % target,
               moved["rx_no_qp"] == _PACKETS and not moved["rx_icrc_encapsulated"], moved)
    if t.run(t.a, "nft -f - <<'END'\n%sEND" % _rules()).rc:
        t.skip("a firewall against that", "there is no nft, or not in this kernel")
        return
    for target in (t.b.address, t.b.address6):
        moved = _forged(t, target)
        t.case("%s: with the rule nobody's do not leave" % target, not moved["rx_no_qp"], moved)
    dropped = t.run(t.a, "nft list table inet roce").out
    t.case("it was the rule", "packets %d " % (2 * _PACKETS) in dropped, dropped)
    t.tool("vverify", "-m rc/send -m ud/send -m rc/read", timeout=60, prefix="with the rule: ")


def run(t):
    if not t.is_tern:
        t.skip("strangers", "tern's alone")
        return
    t.undo = [lambda: t.run(t.a, _NO_RULES)]
    t.check_run("a local QP that names another's peer", t.a, "/tern/vstranger -n eth0", 60)
    _look_at_psns(t)
    _claim_to_be_us(t)
    _busy(t)
    _firewall(t)
