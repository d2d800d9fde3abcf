# SPDX-License-Identifier: GPL-2.0
"""A hundred processes create and destroy all objects for a minute, some are killed, under traffic."""

from vmtest import chaos

PAIRS = ("tern-tern", "iwarp-iwarp")
LONG_PAIRS = ("iwarp-iwarp",)
LIMIT = 280


def run(t):
    # Guests with one CPU hung with it. The cause that was found is mended; few runs have shown so.
    on_demand = " -o" if t.lab.native else ""
    if not on_demand and t.pair == "tern-tern":
        t.skip("memory on demand", "emulated guests hung with it; mended, but shown by few runs")
    chaos.run_beside_traffic(t, "/tern/vchaos -P 100" + on_demand, lambda guest, result: t.case(
        "guest %s: no process crashes, hangs or gives up" % guest.name,
        result.rc == 0 and " 0 gave up" in result.out,
        result.out[-2500:] + result.err[-500:]))
