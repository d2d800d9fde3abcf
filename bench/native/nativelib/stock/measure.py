# SPDX-License-Identifier: GPL-2.0
"""One figure: the same programs twice, with two numbers of operations, by the guest's clock.

What the second takes longer, the additional operations took: starting, connecting and ending are
in both. perftest's own figures are not used: it finds out the CPU's clock itself, and sometimes a
wrong one. How many operations take the time wanted is found out once, then known from the last
sample.
"""

# A run that fails is repeated; one without an end would only cost the time again.
_TRIES = 3
_TRIES_HUNG = 1
_CALIBRATIONS = 6
# Where starting a program takes longer now and then than all operations, the first guess is bad.
_SAMPLES = 4
# Beside the seconds wanted.
_LIMIT_S = 6


class NoFigure(Exception):
    """A point could not be measured, and why."""


class Measure:
    """Knows how fast each point was."""

    def __init__(self, guest, seconds, say):
        self._guest, self._seconds, self._say = guest, seconds, say
        self._rates = {}        # operations a second of each pair

    def use(self, guest):
        """From now on this one."""
        self._guest = guest

    def _run(self, point, counts):
        """The runs, one for each count; failures are said, and repeated."""
        limit_s = _LIMIT_S + 4 * self._seconds
        hung = 0
        for attempt in range(1, _TRIES + 1):
            result = self._guest.run(point, counts, limit_s)
            if not result["failed"]:
                return result["runs"]
            self._say("  %s %s %s x%d: failed: %s" % (point.subject, point.path, point.case,
                                                     point.pairs, result["failed"]))
            hung += result["failed"].startswith("no end")
            if attempt == _TRIES or hung > _TRIES_HUNG:
                raise NoFigure(result["failed"])
        raise AssertionError("not reached")

    def _calibrate(self, point, case):
        """Longer and longer runs, until one is long enough to tell the rate."""
        first, n = case.first, case.first * 20
        for _ in range(_CALIBRATIONS):
            short, long = self._run(point, [first, n])
            took = long["seconds"] - short["seconds"]
            if took >= self._seconds / 4:
                break
            # By the time of the whole at the least: of a difference of nearly nothing no rate
            # can be told.
            least = (n - first) / max(took, long["seconds"] / 20)
            n = _multiple(min(n * 20, least * self._seconds), case)
        else:
            raise NoFigure("%d operations take no longer than %d" % (n, first))
        return (n - first) / took

    def sample(self, point, case):
        """(operations a second of all pairs, operations, seconds, counters of the longer run)"""
        if point not in self._rates:
            self._rates[point] = self._calibrate(point, case)
        for _ in range(_SAMPLES):
            n = _multiple(self._rates[point] * self._seconds * 1.1, case)
            short, long = self._run(point, [_multiple(n / 10, case, 1), n])
            took, more = long["seconds"] - short["seconds"], long["n"] - short["n"]
            if took > 0 and more > 0:
                # Not far from what is known: one bad sample shall not make the next one endless.
                known = self._rates[point]
                self._rates[point] = min(max(more / took, known / 3), known * 6)
            else:
                self._rates[point] *= 6
            if took >= self._seconds / 4 and more > 0:
                return more * point.pairs / took, more * point.pairs, took, long["counters"]
        raise NoFigure("%d operations more take %.2f s more" % (more, took))


def _multiple(n, case, least=2):
    """A number of operations that programs take: whole batches, so many times `first` at least."""
    return max(least * case.first, int(n) // case.batch * case.batch)
