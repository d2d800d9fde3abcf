# SPDX-License-Identifier: GPL-2.0
"""A queue of the sending host that is full: packets go again at once, and no loss is seen in it."""

LIMIT = 150

# Bits a second behind the queue. RoCE's payload of 1024 bytes is 92 % of a packet.
_RATE = 20e6
_PAYLOAD = 1024 / 1110
_SHAPED = ("tc qdisc replace dev eth0 root handle 1: tbf rate %dbit burst 100kb limit 100mb && "
           "tc qdisc add dev eth0 parent 1:1 handle 10: " % _RATE)
_QUEUES = {
    # What comes is refused.
    "pfifo": _SHAPED + "pfifo limit 3",
    # What waits for longest is dropped for what comes (NET_XMIT_CN).
    "pfifo_head_drop": _SHAPED + "pfifo_head_drop limit 3",
    # A batch is taken apart on its way into the queue, and the end of it finds no room.
    "tbf": "tc qdisc replace dev eth0 root tbf rate %dbit burst 20kb limit 80kb" % _RATE,
}
# Those that tell of each drop: it goes again without a loss, and few times for each that is taken.
_TELLS = ("pfifo",)
_REFUSED = 4
_SECONDS = 2
_MOVED = "cat {0}; date +%s%N; sleep {1}; cat {0}; date +%s%N"


def _bits_a_second(t):
    """Of payload that comes in at b."""
    out = t.run(t.b, _MOVED.format(t.counter_file(t.b, "rx_bytes"), _SECONDS * t.slow), 60,
                check=True).out
    first, began, last, end = map(int, out.split())
    return 8 * (last - first) / (end - began) * 1e9


def _check(t, name, tool):
    t.run(t.a, _QUEUES[name], check=True)
    server, client = t.endless("%s -F --run_infinitely -s 65536" % tool,
                               t.has_grown(t.a, "requests_sent", 20))
    before = t.counters(t.a)
    rate = _bits_a_second(t)
    grown = t.counted_since(t.a, before)
    t.kill(client, server)
    t.run(t.a, "tc qdisc del dev eth0 root", check=True)
    what = "%s, %s: " % (name, tool)
    t.note("%s%.1f Mbit/s; %s" % (what, rate / 1e6, {key: n for key, n in grown.items() if n}))
    t.case(what + "the link is used", rate >= 0.7 * _PAYLOAD * _RATE, rate / _RATE)
    t.case(what + "no ACK timer expired", not grown["local_ack_timeout_err"], grown)
    if name not in _TELLS:
        t.case(what + "losses were noticed", grown["packet_seq_err"] > 0, grown)
        return
    t.case(what + "refusals were noticed", grown["tx_dropped"] > 0, grown)
    t.case(what + "and are few", grown["tx_dropped"] <= _REFUSED * grown["tx_packets"], grown)
    t.case(what + "only what was refused went again",
           grown["retransmitted_packets"] <= 1.1 * grown["tx_dropped"] + 64, grown)
    t.case(what + "no NAK came", not grown["packet_seq_err"], grown)


def run(t):
    if not t.is_tern:
        t.skip("local drops", "rxe takes them for losses")
        return
    t.undo = [lambda: t.run(t.a, "tc qdisc del dev eth0 root 2>/dev/null; true")]
    t.run(t.a, "modprobe sch_tbf", check=True)
    for name in _QUEUES:
        _check(t, name, "ib_write_bw")
    _check(t, "pfifo", "ib_send_bw")
