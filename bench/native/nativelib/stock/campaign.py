# SPDX-License-Identifier: GPL-2.0
"""The order of all: rounds, in each the subjects' turns, in each turn its points.

Who begins changes from round to round. A turn loads its driver and unloads it, for two RoCE drivers
want one UDP port. A guest that a driver cannot be unloaded from, or that is lost, is replaced.
"""

import contextlib
import os
import re
import time

from riglib import GuestLost
from riglib.say import RigError

from .awake import awake
from .cases import BY_NAME, SUBJECTS, points
from .guest import Guest
from .measure import Measure, NoFigure

_BOOTS_MAX = 20
# A point that had no figure in so many rounds is left out of the others.
_GIVE_UP = 2


class Campaign:
    """One run of the part perftest."""

    def __init__(self, options, samples, say):
        """options: rounds, scale_rounds, seconds, subjects, cases, pairs, ways, cpus, veth_mtu."""
        self._options, self._samples, self._say = options, samples, say
        self._stack = contextlib.ExitStack()
        self._guest = None
        self._boots = 0
        self._misses = {}
        self._measure = Measure(None, options.seconds, say)

    def run(self):
        """All of it."""
        with self._stack:
            self._boot()
            self._remember()
            self._stack.enter_context(awake())
            for rnd in range(1, self._options.rounds + 1):
                names = self._options.subjects
                turn = (rnd - 1) % len(names)
                for name in names[turn:] + names[:turn]:
                    self._turn(rnd, name)

    # -- the guest

    def _boot(self):
        if self._boots == _BOOTS_MAX:
            raise RigError("%d guests were lost: see what is said above" % self._boots)
        self._boots += 1
        self._guest = Guest(self._options.cpus, self._options.veth_mtu)
        self._guest.__enter__()
        self._measure.use(self._guest)

    def _replace(self, why):
        self._say("  a new guest: %s" % str(why).splitlines()[0])
        guest, self._guest = self._guest, None
        guest.__exit__(None, None, None)
        self._boot()

    def _remember(self):
        self._stack.callback(self._end)
        samples = self._samples
        samples.fact("kernel", self._guest.release())
        samples.fact("guest CPUs", self._guest.cpus)
        samples.fact("host CPUs", len(os.sched_getaffinity(0)))
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            found = re.search(r"(?m)^model name\s*:\s*(.*)$", f.read())
        samples.fact("CPU", found.group(1) if found else "?")
        samples.fact("load before", "%.1f" % os.getloadavg()[0])
        samples.fact("date", time.strftime("%Y-%m-%d"))
        for name in ("rounds", "seconds", "veth_mtu"):
            samples.fact(name, getattr(self._options, name))

    def _end(self):
        if self._guest:
            self._guest.__exit__(None, None, None)

    # -- turns

    def _points(self, rnd, name):
        pairs = [n for n in self._options.pairs if n == 1 or rnd <= self._options.scale_rounds]
        return [point for point in points(name, pairs)
                if point.case in self._options.cases and point.path in self._options.ways
                and self._misses.get(point, 0) < _GIVE_UP]

    def _turn(self, rnd, name):
        subject, todo = SUBJECTS[name], self._points(rnd, name)
        if not todo:
            return
        try:
            self._guest.up(subject)
        except GuestLost as error:
            self._replace(error)
            self._guest.up(subject)
        for point in todo:
            self._point(rnd, subject, point)
        try:
            self._guest.down(subject)
        except RigError as error:
            self._replace("%s cannot be unloaded (%s)" % (subject.module, error))

    def _point(self, rnd, subject, point):
        case = BY_NAME[point.case]
        where = "round %d: %-11s %-4s %-9s x%d" % (rnd, point.subject, point.path, point.case,
                                                  point.pairs)
        try:
            rate, operations, seconds, counters = self._measure.sample(point, case)
        except (NoFigure, GuestLost) as error:
            why = str(error).splitlines()[0]
            self._misses[point] = self._misses.get(point, 0) + 1
            self._samples.add(rnd, point, {"failed": why})
            self._say("%s  no figure: %s" % (where, why))
            if isinstance(error, GuestLost):
                self._replace(error)
                self._guest.up(subject)
            return
        self._samples.add(rnd, point, {"figure": case.figure(rate), "operations": operations,
                                       "seconds": seconds, **counters})
        self._say("%s %10.4g %s" % (where, case.figure(rate), case.unit))
