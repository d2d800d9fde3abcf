# SPDX-License-Identifier: GPL-2.0
"""Connections a second of 32 processes: iWARP beside siw, a minute each, turn by turn."""

import importlib.util
import os
import statistics

PAIRS = ("ww",)
LONG = True
LIMIT = 500

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "68_iwarp_storm.py")
_SPEC = importlib.util.spec_from_file_location("vm_68_iwarp_storm", _PATH)
_STORM = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_STORM)


def run(t):
    rates = {"ww": [], "ss": []}
    try:
        for seconds in (60, 20, 20):
            for pair, found in rates.items():
                t.lab.set_up(pair)
                rate = _STORM.storm(t, seconds, pair == "ww")
                if rate:
                    found.append(rate)
    finally:
        t.lab.set_up("ww")
    ours, theirs = (statistics.median(found or [0]) for found in rates.values())
    t.note("connections a second: tern %.1f, siw %.1f" % (ours, theirs))
    t.case("not fewer than siw's", ours >= theirs, "%.1f, siw %.1f" % (ours, theirs))
