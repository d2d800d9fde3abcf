# SPDX-License-Identifier: GPL-2.0
"""From runs to samples: how long a run is, and what one operation costs the host.

Before a case is measured for the first and the second time, a short run makes no sample. It tells
how many operations take the time that a run shall take, whatever is measured and wherever, and what
a program costs that does next to nothing: that is subtracted, so that neither CPU time nor system
calls of starting, connecting and ending are charged to the messages.

A stream begins slowly, so a short run may say too little: a full run that was over much too soon is
made again, as long as it was to be, and those that follow know better. What is compared takes
equally long.
"""

import math
from dataclasses import dataclass, replace

from . import kinds

MOST = 2_000_000
# Of what a run is to take: less is too short.
_ENOUGH = 0.75
_SHORT_RUNS = 2
# The short run of cases that need none.
_NOTHING = kinds.Result([], 0, 0, 0)


@dataclass
class Sample:
    """One line of samples.csv, but for where and when."""
    suffix: str
    value: float
    unit: str
    host_cpu_ns: float
    per: str


class Measure:
    """Runs cases; remembers their short runs."""

    def __init__(self, seconds=None):
        """seconds: of a run, instead of the case's own."""
        self._seconds = seconds
        self._short = {}
        self._per_second = {}

    def _short_run(self, key, case, once):
        """The one that took the least CPU time was the least disturbed."""
        runs = self._short.setdefault(key, [])
        if len(runs) < _SHORT_RUNS:
            runs.append(once(case.first))
        return min(runs, key=lambda run: run.cpu_s)

    def _amount(self, key, case):
        """What the full run is told, by what is known of the rate."""
        seconds = self._seconds or case.seconds
        if case.timed:
            return max(2, math.ceil(seconds))
        wanted = self._per_second[key] * seconds / case.qps
        # So many more than in the short run that the difference means something.
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
        if cpu_ns <= 0:  # a short run that was disturbed more than the full one: no figure
            cpu_ns = float("nan")
        return [Sample(suffix, value, unit, float("nan") if suffix else cpu_ns, full.per)
                for suffix, value, unit in full.values]
