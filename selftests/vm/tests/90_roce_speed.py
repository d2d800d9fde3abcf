# SPDX-License-Identifier: GPL-2.0
"""The speed table of RoCE: this driver and rxe in the same VMs, medians of five rounds, ratios.

The programs sleep (-e): two programs that poll on one CPU would measure the scheduler.
"""

from vmtest import speed

PAIRS = ("tern-tern",)
LONG = True
LIMIT = 420
ROUNDS = 5
ROWS = (
    ("ib_write_bw", "-s 65536 -n 300 -e", 3, "MiB/s"),
    ("ib_send_bw", "-s 65536 -n 300 -e", 3, "MiB/s"),
    ("ib_read_bw", "-s 65536 -n 300 -e", 3, "MiB/s"),
    ("ib_send_lat", "-s 2 -n 500 -e", 4, "us"),
)


def run(t):
    # Alternately: the host's speed changes within minutes.
    figures = speed.Figures()
    try:
        for _ in range(ROUNDS):
            for pair in ("tern-tern", "rxe-rxe"):
                t.lab.set_up(pair)
                for tool, options, column, _ in ROWS:
                    figures.add(tool, pair, speed.perftest(t, tool, options, column))
    finally:
        t.lab.set_up("tern-tern")
    t.note("%-14s %-18s %10s %10s %7s   of %d, spreads of both" % (
        "tool", "options", t.lab.device, "rxe", "ratio", ROUNDS))
    ours, theirs = "tern-tern", "rxe-rxe"
    for tool, options, _, unit in ROWS:
        ratio = figures.ratio(tool, ours, theirs)
        good = ratio <= 1.0 if unit == "us" else ratio >= 1.0
        t.note("%-14s %-18s %10.2f %10.2f %7.2f   %s, %s, %s" % (
            tool, options, figures.median(tool, ours), figures.median(tool, theirs), ratio, unit,
            figures.spread(tool, ours), figures.spread(tool, theirs)))
        t.case("%s is not worse than rxe's" % tool, good, "ratio %.3f" % ratio)
