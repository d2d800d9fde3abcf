# SPDX-License-Identifier: GPL-2.0
"""Connections a second of 32 processes: iWARP and siw alternately, 100 s each."""

import statistics

from vmtest.storm import run_storm

PAIRS = ("iwarp-iwarp",)
LONG = True
LIMIT = 500


def run(t):
    rates = {"iwarp-iwarp": [], "siw-siw": []}
    try:
        for seconds in (60, 20, 20):
            for pair, found in rates.items():
                t.lab.set_up(pair)
                rate = run_storm(t, seconds, pair == "iwarp-iwarp")
                if rate:
                    found.append(rate)
    finally:
        t.lab.set_up("iwarp-iwarp")
    ours, theirs = (statistics.median(found or [0]) for found in rates.values())
    t.note("connections a second: tern %.1f, siw %.1f" % (ours, theirs))
    t.case("not fewer than siw's", ours >= theirs, "%.1f, siw %.1f" % (ours, theirs))
