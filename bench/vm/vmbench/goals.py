# SPDX-License-Identifier: GPL-2.0
"""Goals: wanted ratios of two figures' medians, and whether they are met."""

import math
from dataclasses import dataclass

from .cases import BY_NAME, LINKS, MTUS, NO_CRC
from .store import Point


@dataclass(frozen=True)
class Goal:
    """`case` of `subject` against another subject, another case, or another number of vCPUs."""
    title: str
    case: str
    subject: str
    against: str
    wanted: dict = None         # by MTU; None: only reported
    at_most: bool = False       # otherwise at least
    against_case: str = None    # otherwise the same
    what: str = "value"         # or "cpu", the host's time
    vcpus: tuple = (1, 1)       # ours, theirs


@dataclass(frozen=True)
class Verdict:
    """A goal on one link with one MTU."""
    goal: Goal
    ours: Point
    theirs: Point
    ratio: float
    wanted: float               # None: only reported, as programs that spin on one CPU

    @property
    def met(self):
        """None if there is no goal or no figure."""
        if self.wanted is None or math.isnan(self.ratio):
            return None
        return self.ratio <= self.wanted if self.goal.at_most else self.ratio >= self.wanted


def _both(wanted):
    return dict.fromkeys(MTUS, wanted)


def _goals():
    for verb, at_1500, at_9000 in (("write", 2.0, 1.5), ("read", 2.0, 1.5), ("send", 3.0, 2.0)):
        for size in ("64K", "1M"):
            case, words = "%s-%s" % (verb, size), "RC %s %siB" % (verb.upper(), size)
            for rxe in ("rxe", "rxe-6.12"):
                yield Goal(words, case, "tern_roce", rxe,
                           {1500: at_1500, 9000: at_9000} if rxe == "rxe" else None)
    yield Goal("RC WRITE 1MiB", "write-1M", "tern_roce", "tcp", {1500: 0.8, 9000: 0.9},
               against_case="tcp")
    for verb in ("write", "read"):
        for size in ("64K", "1M"):
            case, words = "%s-%s" % (verb, size), "iWARP %s %siB" % (verb.upper(), size)
            yield Goal(words, case, "tern_iwarp", "tcp", _both(0.9), against_case="tcp")
            yield Goal(words, case, "tern_iwarp", "siw", _both(3.0))
            yield Goal(words + ", no CRC", case, NO_CRC, "tcp", against_case="tcp")
    for case, what in (("rate-64", "16 a post"), ("rate-64-l64", "64 a post"),
                       ("rate-64-t512", "16 a post, 512 under way")):
        words = "WRITE 64 B rate, " + what
        yield Goal("RC " + words, case, "tern_roce", "rxe", _both(5.0))
        yield Goal("RC " + words, case, "tern_roce", "rxe-6.12")
        yield Goal("iWARP " + words, case, "tern_iwarp", "siw", _both(5.0))
    yield Goal("RC WRITE 2 B latency", "lat-2", "tern_roce", "rxe", _both(0.8), True)
    yield Goal("RC WRITE 2 B latency", "lat-2", "tern_roce", "rxe-6.12", None, True)
    yield Goal("RC WRITE 2 B latency", "lat-2", "tern_roce", "udp", _both(1.1), True, "udp")
    yield Goal("RC WRITE 2 B latency", "lat-2", "tern_roce", "udp", None, True, "udp-spin")
    yield Goal("iWARP WRITE 2 B latency", "lat-2", "tern_iwarp", "siw", None, True)
    yield Goal("2 vCPUs by 1: TCP", "smp-tcp", "tcp", "tcp", vcpus=(2, 1))


def _local_goals():
    yield Goal("same host: RC WRITE 64KiB", "local-write-64K", "tern_roce", "rxe", _both(10.0))
    for subject in ("tern_roce", "tern_iwarp"):
        yield Goal("same host: WRITE 64KiB", "local-write-64K", subject, "memcpy", _both(0.6),
                   against_case="memcpy")
    yield Goal("same host: RC WRITE 2 B latency", "local-lat-2", "tern_roce", "rxe", _both(0.5),
               True, vcpus=(2, 2))
    yield Goal("same host: RC WRITE 64 B rate", "local-rate-64", "tern_roce", "rxe", _both(5.0))
    yield Goal("same host: iWARP WRITE 64KiB", "local-write-64K", "tern_iwarp", "siw")
    yield Goal("same host: iWARP WRITE 64 B rate", "local-rate-64", "tern_iwarp", "siw")


def _sleeping_goals():
    """Of programs that sleep: the goals of those that spin, which are not judged with one CPU."""
    for rxe, wanted in (("rxe", {1500: 3.0, 9000: 2.0}), ("rxe-6.12", None)):
        yield Goal("RC SEND 64KiB, asleep", "sleep-64K", "tern_roce", rxe, wanted)
        yield Goal("RC SEND 1MiB, asleep", "sleep-1M", "tern_roce", rxe, wanted)
    yield Goal("RC SEND 1MiB, asleep", "sleep-1M", "tern_roce", "tcp", {1500: 0.8, 9000: 0.9},
               against_case="tcp")
    for size in ("64K", "1M"):
        case, words = "sleep-" + size, "iWARP SEND %siB, asleep" % size
        yield Goal(words, case, "tern_iwarp", "tcp", _both(0.9), against_case="tcp")
        yield Goal(words, case, "tern_iwarp", "siw", _both(3.0))
        yield Goal(words + ", no CRC", case, NO_CRC, "tcp", against_case="tcp")
    yield Goal("RC SEND 64 B rate, asleep", "sleep-rate-64", "tern_roce", "rxe", _both(5.0))
    yield Goal("RC SEND 2 B latency, asleep", "sleep-lat-2", "tern_roce", "rxe", _both(0.8), True)
    yield Goal("RC SEND 2 B latency, asleep", "sleep-lat-2", "tern_roce", "udp", _both(1.1), True,
               "udp")
    yield Goal("iWARP SEND 2 B latency, asleep", "sleep-lat-2", "tern_iwarp", "siw", None, True)
    yield Goal("same host: RC SEND 64KiB, asleep", "sleep-local-64K", "tern_roce", "rxe",
               _both(10.0))


def _own_goals(subject):
    """A tern device against itself in another case."""
    yield Goal("host CPU a byte, 1MiB by 64KiB", "write-1M", subject, subject, _both(1.1), True,
               "write-64K", "cpu")
    yield Goal("time a byte, 1MiB by 64KiB", "write-64K", subject, subject, _both(1.1), True,
               "write-1M")
    yield Goal("host CPU a byte, 1MiB by 64KiB, asleep", "sleep-1M", subject, subject, _both(1.1),
               True, "sleep-64K", "cpu")
    yield Goal("256 QPs by 1: WRITE 16KiB", "qps-16K-256", subject, subject, _both(0.85),
               against_case="qps-16K-1")
    yield Goal("256 QPs by 1: WRITE 64 B rate", "qps-64-256", subject, subject, _both(0.85),
               against_case="qps-64-1")
    yield Goal("2 B latency, p99, beside bulk", "fair-bulk", subject, subject, _both(5.0), True,
               "fair-alone")
    # Medians of two equal things differ by up to a twentieth.
    for case, words in (("smp-write-64K", "WRITE 64KiB"), ("smp-rate-64", "WRITE 64 B rate"),
                        ("smp-sleep-64K", "SEND 64KiB, programs that sleep"),
                        ("smp-local-64K", "same host: WRITE 64KiB"),
                        ("smp-veth-64K", "veth: WRITE 64KiB"),
                        ("smp-veth-sleep-64K", "veth: SEND 64KiB, programs that sleep")):
        yield Goal("2 vCPUs by 1: " + words, case, subject, subject, _both(0.95), vcpus=(2, 1))
    yield Goal("2 vCPUs by 1: WRITE 64KiB, 8 QPs", "smp-write-64K-q8", subject, subject,
               vcpus=(2, 1))
    yield Goal("2 vCPUs: SEND 64KiB, programs that sleep", "smp-sleep-64K", subject, "tcp",
               against_case="smp-tcp", vcpus=(2, 2))


GOALS = tuple(_goals()) + tuple(_local_goals()) + tuple(_sleeping_goals()) + \
    tuple(_own_goals("tern_roce")) + tuple(_own_goals("tern_iwarp"))


def _is_judged(point):
    """Figures of programs that spin on one CPU do not judge a driver."""
    return point.vcpus > 1 or not BY_NAME[point.case].spins


def verdicts(samples):
    """The verdicts on all goals whose subjects and cases were measured, by link and MTU."""
    points = samples.points()
    subjects, cases = {p.subject for p in points}, {p.case for p in points}
    found = []
    for link in LINKS:
        for mtu in MTUS:
            for goal in GOALS:
                ours = Point(link, mtu, goal.vcpus[0], goal.subject, goal.case)
                theirs = Point(link, mtu, goal.vcpus[1], goal.against,
                               goal.against_case or goal.case)
                # A point that failed has a line. One that was not asked for has none.
                asked = all(p.subject in subjects and p.case in cases for p in (ours, theirs))
                if not asked or not (samples.of(ours) or samples.of(theirs)):
                    continue
                over = samples.median(theirs, goal.what)
                ratio = samples.median(ours, goal.what) / over if over else float("nan")
                wanted = (goal.wanted or {}).get(mtu)
                if not (_is_judged(ours) and _is_judged(theirs)):
                    wanted = None
                found.append(Verdict(goal, ours, theirs, ratio, wanted))
    return found
