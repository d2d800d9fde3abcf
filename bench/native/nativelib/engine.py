# SPDX-License-Identifier: GPL-2.0
"""Builds and runs the Google Benchmark binary of ../engine and reads its CSV file."""

import csv
import os
import re

from riglib import tool
from riglib.say import RigError, progress

from . import BUILD, HERE

# Goals: packets a second of the engines, both directions, for messages of one packet.
_PACKETS = 10e6
_JUDGED = "BM_Rc/write/bytes:64/"


def run(out_csv):
    """Build and run it. Returns the medians of its repetitions as rows of the CSV file."""
    progress("engines in memory")
    tool.run(["make", "-C", os.path.join(HERE, "engine"), "CSV=" + out_csv, "run",
              "O=" + os.path.join(BUILD, "bench/engine")], limit_s=900, what="the engine benchmark",
             env=dict(os.environ, MAKEFLAGS="", MAKELEVEL=""))
    with open(out_csv, encoding="utf-8", newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["name"].endswith("_median")]
    if not rows:
        raise RigError("the engine benchmark measured nothing; see %s" % out_csv)
    return rows


def _order(row):
    """A sort key by which 64 comes before 256. The order of the runs was random."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", row["name"])]


def table(rows):
    """(lines, how many goals are missed)"""
    lines = ["%-48s %10s %12s  %s" % ("in memory, CPU time", "ns", "a second", "wanted")]
    missed = 0
    for row in sorted(rows, key=_order):
        name = row["name"].removesuffix("_median").replace("/repeats:5", "")
        rate, what = "", ""
        if row["items_per_second"]:
            items = float(row["items_per_second"])
            rate, what = "%.2f M" % (items / 1e6), row["label"].strip('"')
            if name.startswith(_JUDGED):
                met = items >= _PACKETS
                missed += not met
                what += " >= %.0f M: %s" % (_PACKETS / 1e6, "met" if met else "NOT met")
        elif row["bytes_per_second"]:
            rate = "%.2f GB" % (float(row["bytes_per_second"]) / 1e9)
        lines.append("%-48s %10.1f %12s  %s" % (name, float(row["cpu_time"]), rate, what))
    return lines, missed
