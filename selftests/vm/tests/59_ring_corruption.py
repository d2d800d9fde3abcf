# SPDX-License-Identifier: GPL-2.0
"""A hostile user writes random data into all rings that are mapped: others notice nothing."""

from vmtest import chaos

PAIRS = ("tern-tern", "iwarp-iwarp")
LONG_PAIRS = ("iwarp-iwarp",)
LIMIT = 280

# User nobody, without any capability.
_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all"


def run(t):
    chaos.run_beside_traffic(t, _NOBODY + " /tern/vchaos -x -P 20", lambda guest, result: t.case(
        "guest %s: rings were used and overwritten, and all processes end" % guest.name,
        result.rc == 0, result.out[-2500:] + result.err[-500:]))
