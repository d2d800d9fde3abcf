# SPDX-License-Identifier: GPL-2.0
"""From runs to samples: how long a run is, and what one operation costs the host.

Before a case is measured for the first and the second time there is a short run without a sample.
It shows how many operations fill the time of a run, and what a program costs that does next to
nothing. That is subtracted, so CPU time and system calls of start, connection and end do not count
as cost of the messages.

A stream begins slowly, so the short run may show too few operations: a full run that ends much too
early is repeated with the right number, and later runs use that. Compared runs take equally long.
"""

import math
from dataclasses import dataclass, replace

from . import kinds

MOST = 2_000_000
# A run that takes less of its time than this is too short.
_ENOUGH = 0.75
_SHORT_RUNS = 2
# Stands for the short run of cases without one.
_NOTHING = kinds.Result([], 0, 0, 0)


@dataclass
class Sample:
    """One line of samples.csv, without place and time."""
    suffix: str
    value: float
    unit: str
    host_cpu_ns: float
    per: str


class Measure:
    """Runs cases and remembers their short runs."""

    def __init__(self, seconds=None):
        """seconds: of a run, instead of the case's own."""
        self._seconds = seconds
        self._short = {}
        self._per_second = {}

    def _short_run(self, key, case, once):
        """The run with the least CPU time, which was disturbed least."""
        runs = self._short.setdefault(key, [])
        if len(runs) < _SHORT_RUNS:
            runs.append(once(case.first))
        return min(runs, key=lambda run: run.cpu_s)

    def _amount(self, key, case):
        """The amount for the full run, by the known rate."""
        seconds = self._seconds or case.seconds
        if case.timed:
            return max(2, math.ceil(seconds))
        wanted = self._per_second[key] * seconds / case.qps
        # Enough more than in the short run for a significant difference.
        wanted = min(max(wanted, 3 * case.first), MOST)
        return math.ceil(wanted / case.batch) * case.batch

    def _full_run(self, key, case, once, short):
        self._per_second.setdefault(key, short.per_second)
        amount = self._amount(key, case)
        full = once(amount)
        self._per_second[key] = full.per_second
        if amount < _ENOUGH * self._amount(key, case):
            full = once(self._amount(key, case))
            self._per_second[key] = full.per_second
        return full

    def samples(self, t, key, case, subject):
        """A full run, after a short one if that is due."""
        run = getattr(kinds, case.kind)

        def once(amount):
            return run(t, case, subject, amount)

        short = self._short_run(key, case, once) if case.first else _NOTHING
        full = self._full_run(key, case, once, short)
        more = full.operations - short.operations
        if more <= 0:
            raise RuntimeError("a longer run of %s did no more" % case.name)
        if case.kind == "calls":
            full = replace(full, values=[
                (suffix, (value - before[1]) / more, unit)
                for (suffix, value, unit), before in zip(full.values, short.values)])
        cpu_ns = (full.cpu_s - short.cpu_s) / more / full.each * 1e9
        if cpu_ns <= 0:  # the short run was disturbed more than the full one: no figure
            cpu_ns = float("nan")
        return [Sample(suffix, value, unit, float("nan") if suffix else cpu_ns, full.per)
                for suffix, value, unit in full.values]
