# SPDX-License-Identifier: GPL-2.0
"""One figure: the same programs twice, with two numbers of operations, by the guest's clock.

The additional operations took the difference in time: start, connection and end are in both.
perftest's own figures are not used: it measures the CPU's clock itself, and sometimes wrongly. The
number of operations for the wanted time is calibrated once, then taken from the last sample.
"""

# A run that fails is repeated, but not one that did not end: it would take as long again.
_TRIES = 3
_TRIES_HUNG = 1
_CALIBRATIONS = 6
# If the start of a program sometimes takes longer than all operations, the first guess is bad.
_SAMPLES = 4
# Added to the wanted seconds.
_LIMIT_S = 6


class NoFigure(Exception):
    """Why a point could not be measured."""


class Measure:
    """Measures points, and remembers how fast each was."""

    def __init__(self, guest, seconds, say):
        self._guest, self._seconds, self._say = guest, seconds, say
        self._rates = {}        # operations a second of each pair

    def use(self, guest):
        """Use this guest from now on."""
        self._guest = guest

    def _run(self, point, counts):
        """The runs, one for each count. A run that fails is reported and repeated."""
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
        """Run longer and longer, until a run is long enough for a rate."""
        first, n = case.first, case.first * 20
        for _ in range(_CALIBRATIONS):
            short, long = self._run(point, [first, n])
            took = long["seconds"] - short["seconds"]
            if took >= self._seconds / 4:
                break
            # The time of the whole run bounds the rate, as a very small difference gives none.
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
                # Near the known rate: one bad sample must not make the next one endless.
                known = self._rates[point]
                self._rates[point] = min(max(more / took, known / 3), known * 6)
            else:
                self._rates[point] *= 6
            if took >= self._seconds / 4 and more > 0:
                return more * point.pairs / took, more * point.pairs, took, long["counters"]
        raise NoFigure("%d operations more take %.2f s more" % (more, took))


def _multiple(n, case, least=2):
    """A number that programs accept: whole batches, at least `first` times a factor."""
    return max(least * case.first, int(n) // case.batch * case.batch)
