# SPDX-License-Identifier: GPL-2.0
"""All samples, in a CSV file that is written as they come.

Metrics of a point in a round: "figure", "operations", "seconds", or instead "failed", a text; and
the guest's counters during the longer run: cpuN.user and so on in ticks, cpuN.NET_RX, cpuN.NET_TX,
and l.NAME and r.NAME of the two devices. Lines of round 0 describe the machine.
"""

import csv
import os
import statistics

from .cases import Point

_HEAD = ("round", "subject", "path", "case", "pairs", "metric", "value")


class Samples:
    """The rows of the file."""

    def __init__(self):
        self.facts = {}
        self._rows = []
        self._file = self._out = None

    def open(self, path):
        """Begin to write what is added."""
        self._file = open(path, "w", encoding="utf-8", newline="")
        self._out = csv.writer(self._file)
        self._out.writerow(_HEAD)

    def close(self):
        """End writing."""
        self._file.close()

    def load(self, path):
        """Read all of a file. Returns self."""
        if not os.path.exists(path):
            return self
        with open(path, encoding="utf-8", newline="") as f:
            for row in csv.DictReader(f):
                if row["round"] == "0":
                    self.facts[row["metric"]] = row["value"]
                else:
                    point = Point(row["subject"], row["path"], row["case"], int(row["pairs"]))
                    self._rows.append((int(row["round"]), point, row["metric"], row["value"]))
        return self

    def fact(self, name, value):
        """Add a fact about the machine."""
        self.facts[name] = str(value)
        self._out.writerow((0, "", "", "", "", name, value))
        self._file.flush()

    def add(self, rnd, point, values):
        """Add one sample: {metric: value}."""
        for metric, value in values.items():
            self._rows.append((rnd, point, metric, value))
            self._out.writerow((rnd, point.subject, point.path, point.case, point.pairs, metric,
                                "%.6g" % value if isinstance(value, float) else value))
        self._file.flush()

    def points(self):
        """All points that have rows."""
        return list(dict.fromkeys(row[1] for row in self._rows))

    def values(self, point, metric="figure"):
        """Values of all rounds."""
        return [float(row[3]) for row in self._rows if row[1] == point and row[2] == metric]

    def median(self, point, metric="figure"):
        """The median, or None."""
        found = self.values(point, metric)
        return statistics.median(found) if found else None

    def total(self, point, metric):
        """Sum of a counter over all rounds."""
        return sum(self.values(point, metric))

    def metrics(self, point):
        """Names of the metrics of a point."""
        return list(dict.fromkeys(row[2] for row in self._rows if row[1] == point))

    def failures(self):
        """[(point, number of rounds, the last reason)]"""
        found = {}
        for _, point, metric, value in self._rows:
            if metric == "failed":
                found[point] = (found.get(point, (0,))[0] + 1, value)
        return [(point, count, why) for point, (count, why) in found.items()]
