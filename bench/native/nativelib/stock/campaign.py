# SPDX-License-Identifier: GPL-2.0
"""The order of all: rounds, in each the subjects' turns, in each turn the subject's points.

The first subject changes from round to round. A turn loads its driver and unloads it, because two
RoCE drivers need the same UDP port. A guest that is lost, or keeps a driver, is replaced.
"""

import contextlib
import dataclasses
import os
import re
import time

from riglib.say import RigError

from .awake import awake
from .cases import BY_NAME, SUBJECTS
from .guest import Guest
from .measure import Measure, NoFigure

_BOOTS_MAX = 20
# After this many rounds without a figure a point is left out of the others.
_GIVE_UP = 2


class Stop(Exception):
    """The time for the whole run is over."""


class Campaign:
    """One run of a part."""

    def __init__(self, options, points, network, samples, say):
        """options: those of command.py; points(round, subject): what is to be measured.

        With a network in the guest, Point.path is one of loss.NETWORKS.
        """
        self._options, self._samples, self._say = options, samples, say
        self._wanted, self._network = points, network
        self._stack = contextlib.ExitStack()
        self._guest = None
        self._boots = 0
        self._deadline = time.monotonic() + 60 * options.limit
        self._misses = {}
        self._measure = Measure(None, options.seconds, say)

    def run(self):
        """Run all, or until the time is over: then the last round is shorter."""
        with self._stack, contextlib.suppress(Stop):
            self._stack.callback(self._end)
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
        self._guest = Guest(self._options.cpus, self._options.veth_mtu, self._network)
        self._guest.__enter__()
        self._measure.use(self._guest)

    def _replace(self, why):
        self._say("  a new guest: %s" % str(why).splitlines()[0])
        guest, self._guest = self._guest, None
        guest.__exit__(None, None, None)
        self._boot()

    def _remember(self):
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
        return [point for point in self._wanted(rnd, name)
                if self._misses.get(point, 0) < _GIVE_UP]

    def _turn(self, rnd, name):
        subject, todo = SUBJECTS[name], self._points(rnd, name)
        if not todo:
            return
        if time.monotonic() > self._deadline:
            self._say("the time is over, in round %d of %d" % (rnd, self._options.rounds))
            raise Stop
        if not self._up(subject):
            return
        failed = set()
        for point in todo:
            # If one pair fails, several at once will too.
            if dataclasses.replace(point, pairs=1) not in failed:
                if not self._point(rnd, subject, point):
                    failed.add(point)
        try:
            self._guest.down(subject)
        except RigError as error:
            self._replace("%s cannot be unloaded (%s)" % (subject.module, error))

    def _up(self, subject):
        """Load its driver. False if that fails in two guests."""
        for _ in range(2):
            try:
                self._guest.up(subject)
                return True
            except RigError as error:
                self._replace("%s cannot be loaded (%s)" % (subject.name, error))
        return False

    def _point(self, rnd, subject, point):
        """Measure it. Returns whether there is a figure."""
        case = BY_NAME[point.case]
        where = "round %d: %-11s %-10s %-9s x%d" % (rnd, point.subject, point.path, point.case,
                                                  point.pairs)
        try:
            rate, operations, seconds, counters = self._measure.sample(point, case)
        except (NoFigure, RigError) as error:
            why = str(error).splitlines()[0]
            self._misses[point] = self._misses.get(point, 0) + 1
            self._samples.add(rnd, point, {"failed": why})
            self._say("%s  no figure: %s" % (where, why))
            if isinstance(error, RigError):
                self._replace(error)
                self._up(subject)
            return False
        self._samples.add(rnd, point, {"figure": case.figure(rate), "operations": operations,
                                       "seconds": seconds, **counters})
        self._say("%s %10.4g %s" % (where, case.figure(rate), case.unit))
        return True
