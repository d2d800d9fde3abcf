# SPDX-License-Identifier: GPL-2.0
"""samples.csv: written line by line as samples come, read for tables and plots."""

import csv
import math
import os
import statistics
from typing import NamedTuple

FIELDS = ("round", "link", "mtu", "vcpus", "subject", "case", "value", "unit", "host_cpu_ns",
          "per")


class Point(NamedTuple):
    """What is measured, in any round."""
    link: str
    mtu: int
    vcpus: int
    subject: str
    case: str


class Samples:
    """All samples of a run."""

    def __init__(self):
        self._values, self._cpu, self.units, self.pers = {}, {}, {}, {}
        self._file = self._writer = None

    def open(self, path):
        """Begin the file. An earlier one is kept beside it."""
        if os.path.exists(path):
            os.replace(path, path.removesuffix(".csv") + "-before.csv")
        self._file = open(path, "w", encoding="ascii", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(FIELDS)
        self._file.flush()

    def close(self):
        """End the file."""
        self._file.close()

    def load(self, path):
        """Read those of a file. Returns self."""
        with open(path, encoding="ascii", newline="") as f:
            for row in csv.DictReader(f):
                self._take(Point(row["link"], int(row["mtu"]), int(row["vcpus"]), row["subject"],
                                 row["case"]), float(row["value"]), row["unit"],
                           float(row["host_cpu_ns"] or "nan"), row["per"])
        return self

    def add(self, number, point, sample):
        """Add a sample and write it."""
        self._take(point, sample.value, sample.unit, sample.host_cpu_ns, sample.per)
        cpu = "" if math.isnan(sample.host_cpu_ns) else "%.1f" % sample.host_cpu_ns
        self._writer.writerow((number, *point, "%.6g" % sample.value, sample.unit, cpu,
                               sample.per if cpu else ""))
        self._file.flush()

    def _take(self, point, value, unit, cpu, per):
        self._values.setdefault(point, []).append(value)
        if not math.isnan(cpu):
            self._cpu.setdefault(point, []).append(cpu)
        self.units[point] = unit
        self.pers[point] = per

    # -- figures

    def points(self):
        """All points, in the order of their first samples."""
        return list(self._values)

    def of(self, point, what="value"):
        """The samples of a point: values, or the host's CPU time."""
        return (self._values if what == "value" else self._cpu).get(point, [])

    def median(self, point, what="value"):
        """The median, or NaN without samples."""
        found = self.of(point, what)
        return statistics.median(found) if found else float("nan")

    def spread(self, point, what="value"):
        """(least, most), or NaNs."""
        found = self.of(point, what) or [float("nan")]
        return min(found), max(found)
