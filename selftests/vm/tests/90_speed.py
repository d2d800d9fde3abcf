# SPDX-License-Identifier: GPL-2.0
"""The speed table: this driver against rxe in the same VMs, medians of five, ratios."""

import statistics

PAIRS = ("tt",)
LONG = True
LIMIT = 420
ROUNDS = 5
ROWS = (
    ("ib_write_bw", "-s 65536 -n 300", 3, "MiB/s"),
    ("ib_send_bw", "-s 65536 -n 300", 3, "MiB/s"),
    ("ib_read_bw", "-s 65536 -n 300", 3, "MiB/s"),
    ("ib_write_lat", "-s 2 -n 500", 4, "us"),
)


def _measure(t, tool, options, column):
    command = "%s -F %s -d " % (tool, options)
    there, here = t.pair_run(command + t.dev(t.b), command + t.dev(t.a) + " " + t.b.address,
                             port=18515, timeout=40)
    for line in here.out.splitlines():
        words = line.split()
        if len(words) > column and words[0].isdigit():
            return float(words[column])
    raise RuntimeError("%s printed no result:\n%s%s%s" % (tool, here.out, here.err, there.err))


def run(t):
    # Turn by turn: the host's mood changes in minutes, and both are to have the same.
    ours = {tool: [] for tool, *_ in ROWS}
    theirs = {tool: [] for tool, *_ in ROWS}
    try:
        for _ in range(ROUNDS):
            for pair, figures in (("tt", ours), ("xx", theirs)):
                t.lab.set_up(pair)
                for tool, options, column, _ in ROWS:
                    figures[tool].append(_measure(t, tool, options, column))
    finally:
        t.lab.set_up("tt")
    t.note("%-14s %-18s %10s %10s %7s   of %d, spreads of both" % (
        "tool", "options", t.lab.device, "rxe", "ratio", ROUNDS))
    for tool, options, _, unit in ROWS:
        a, b = statistics.median(ours[tool]), statistics.median(theirs[tool])
        ratio = a / b if b else 0.0
        good = ratio <= 1.0 if unit == "us" else ratio >= 1.0
        t.note("%-14s %-18s %10.2f %10.2f %7.2f   %s, %.2f..%.2f, %.2f..%.2f" % (
            tool, options, a, b, ratio, unit, min(ours[tool]), max(ours[tool]),
            min(theirs[tool]), max(theirs[tool])))
        t.case("%s is not worse than rxe's" % tool, good, "ratio %.3f" % ratio)
