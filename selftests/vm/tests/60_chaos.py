# SPDX-License-Identifier: GPL-2.0
"""A hundred processes create and destroy everything for a minute, some killed, under traffic."""

from vmtest import chaos

PAIRS = ("tern-tern", "iwarp-iwarp")
LONG_PAIRS = ("iwarp-iwarp",)
LIMIT = 280


def run(t):
    chaos.beside(t, "/tern/vchaos -P 100", lambda guest, result: t.case(
        "guest %s: no process crashes, hangs or gives up" % guest.name,
        result.rc == 0 and " 0 gave up" in result.out,
        result.out[-2500:] + result.err[-500:]))
