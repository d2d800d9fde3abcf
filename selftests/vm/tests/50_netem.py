# SPDX-License-Identifier: GPL-2.0
"""netem with loss, duplicates, reordering, corruption: data arrives, what comes early is kept."""

import collections
import re

from vmtest import netem

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern", "iwarp-iwarp")
LONG_PAIRS = ("tern-rxe", "rxe-tern")
LIMIT = 400
# Settings, and the counters of the two ends, together, that rise.
MATRIX = {
    "loss": ("loss 1%", ("rx_out_of_order_kept", "retransmitted_packets")),
    # One packet of a hundred, in bursts of four on average.
    "burst": ("loss gemodel 0.25% 25%", ("rx_out_of_order_kept", "retransmitted_packets")),
    # The last packet of a message too, behind which nothing comes.
    "heavy": ("loss 10%", ("rx_out_of_order_kept", "tx_probes")),
    "duplicate": ("duplicate 1%", ("duplicate_request",)),
    "reorder": ("delay 1ms reorder 25%", ("rx_out_of_order_kept",)),
    "corrupt": ("corrupt 0.5%", ("rx_icrc_encapsulated", "rx_out_of_order_kept")),
}
# All opcodes, and, where both ends can, as many packets in a few seconds as make each counter rise.
_TOOL = "-m 'rc/*/both-ways' -t 60 -s 0x%x"
_STREAM = " -m rc/flush/mixed -m scale/mixed -N 4 -S 2"
_PAGE = 4096
# Each CPU may have as much of the protocol's memory at hand (SK_MEMORY_PCPU_RESERVE, both signs).
_AT_HAND_BYTES = 2 << 20


def _is_roce(t, guest):
    return t.is_tern and t.lab.driver_of(t.pair, guest.name) == "tern"


def _udp_bytes(t, guest):
    """What UDP sockets are charged with: QPs' packets that wait are."""
    text = t.run(guest, "cat /proc/net/sockstat", check=True).out
    return int(re.search(r"(?m)^UDP:.* mem (\d+)", text).group(1)) * _PAGE


def _run_one(t, name, ends):
    """One row of the matrix; returns how many packets were kept."""
    settings, counters = MATRIX[name]
    before = {guest.name: t.counters(guest) for guest in ends}
    for guest in t.guests:
        netem.add(t, guest, settings)
    tool = _TOOL % sum(name.encode()) + ("" if "rxe" in t.pair else _STREAM)
    t.tool("vverify", tool, timeout=180, prefix=name + "/")
    both = collections.Counter()
    for guest in ends:
        grown = t.counted_since(guest, before[guest.name])
        t.note("%s, guest %s: %s" % (name, guest.name, {key: n for key, n in grown.items() if n}))
        both.update(grown)
    for counter in counters if len(ends) == 2 else ():
        t.case("%s/%s rises" % (name, counter), both[counter] > 0, both)
    return both["rx_out_of_order_kept"]


def run(t):
    ends = [guest for guest in t.guests if _is_roce(t, guest)]
    charged = {guest.name: _udp_bytes(t, guest) for guest in ends}
    try:
        kept = sum(_run_one(t, name, ends) for name in MATRIX)
    finally:
        for guest in t.guests:
            netem.remove(t, guest)
    if ends:
        t.case("packets came ahead of their turn and were kept", kept > 0, kept)
    for guest in ends:
        more = _udp_bytes(t, guest) - charged[guest.name]
        spare = _AT_HAND_BYTES * int(t.run(guest, "nproc", check=True).out)
        t.case("guest %s: sockets are charged with what they were before" % guest.name,
               more <= spare, more)
