# SPDX-License-Identifier: GPL-2.0
"""The parts perftest and loss: their options, and their whole runs to the tables."""

import argparse
import os
import shutil
import time

from riglib import uml
from riglib.say import RigError

from . import loss, report
from .campaign import Campaign
from .cases import BY_NAME, PATHS, SUBJECTS, points
from .store import Samples

_PAIRS = (1, 2, 4, 8)


def _words(allowed):
    def parse(text):
        chosen = text.split(",")
        unknown = [word for word in chosen if word not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError("%s is none of %s" % (unknown[0], ", ".join(allowed)))
        return [word for word in allowed if word in chosen]
    return parse


def _counts(text):
    try:
        counts = sorted({int(word) for word in text.split(",")})
    except ValueError:
        counts = [0]
    if not 1 <= counts[0] <= counts[-1] <= 64:
        raise argparse.ArgumentTypeError("numbers from 1 to 64, with commas between")
    return counts


def add_arguments(group):
    """Add them to an argparse group."""
    group.add_argument("--rounds", type=int, default=5, help="of all subjects (%(default)s)")
    group.add_argument("--scale-rounds", type=int, default=3,
                       help="in so many of them several pairs at once, too (%(default)s)")
    group.add_argument("--limit", type=float, default=60, metavar="MINUTES",
                       help="begin no turn later, and report what there is (%(default)s)")
    group.add_argument("--seconds", type=float, default=1, help="of a figure (%(default)s)")
    group.add_argument("--subjects", type=_words(SUBJECTS), default=list(SUBJECTS), metavar="S,..",
                       help=",".join(SUBJECTS))
    group.add_argument("--cases", type=_words(BY_NAME), default=list(BY_NAME), metavar="C,..",
                       help=",".join(BY_NAME))
    group.add_argument("--ways", type=_words(PATHS), default=list(PATHS), metavar="W,..",
                       help="veth: between two namespaces; host: both programs on one device "
                       "(%s)" % ",".join(PATHS))
    group.add_argument("--pairs", type=_counts, default=None, metavar="N,..",
                       help="of programs at once (1,2,4,8, as far as there are two CPUs for each, "
                       "at least 1,2)")
    group.add_argument("--networks", type=_words(loss.NETWORK), default=list(loss.NETWORK),
                       metavar="N,..", help="loss: %s" % ",".join(loss.NETWORK))
    group.add_argument("--cpus", type=int, default=None,
                       help="of the guest (as many as here, at least 2)")
    group.add_argument("--veth-mtu", type=int, default=1500, help="(%(default)s, as veth comes)")
    group.add_argument("--counters", action="store_true",
                       help="what the guest counted beside each figure, as a table too")
    group.add_argument("--table", action="store_true",
                       help="measure nothing: the tables, in Markdown, of what is in --out")


def _paths(out):
    return os.path.join(out, "perftest.csv"), os.path.join(out, "native.csv")


def show(args):
    """Print the tables of an earlier run."""
    ours, native = _paths(args.out)
    samples = Samples().load(ours)
    if not samples.points():
        raise RigError("%s has no samples: run --parts perftest first" % os.path.relpath(ours))
    print("\n".join(report.markdown(samples, native)))
    if args.counters:
        print("\n".join(report.counters(samples)))
    return 0


def _measure(args, wanted, network, path):
    """Measure; the samples are in the file `path`, and the one before has `.before` at its end."""
    if args.rounds < 1 or args.seconds <= 0:
        raise RigError("--rounds and --seconds are to be positive")
    missing = uml.missing_programs()
    if missing:
        raise RigError("not installed: %s; qemu/install-deps.sh qemu/packages.native does it"
                       % " ".join(missing))
    args.cpus = args.cpus or uml.cpus()
    if os.path.exists(path):
        shutil.copy(path, path + ".before")
    began = time.monotonic()

    def say(text):
        print("[%3d:%02d] %s" % (*divmod(int(time.monotonic() - began), 60), text), flush=True)

    samples = Samples()
    samples.open(path)
    try:
        Campaign(args, wanted, network, samples, say).run()
    finally:
        samples.close()
    print()


def run(args):
    """Measure, then print the tables. Returns how many goals are missed: 0, for there are none."""
    args.cpus = args.cpus or uml.cpus()
    args.pairs = args.pairs or [n for n in _PAIRS if n <= 2 or 2 * n <= args.cpus]
    path = _paths(args.out)[0]

    def wanted(rnd, name):
        pairs = [n for n in args.pairs if n == 1 or rnd <= args.scale_rounds]
        return [point for point in points(name, pairs)
                if point.case in args.cases and point.path in args.ways]

    _measure(args, wanted, False, path)
    show(args)
    print("\nall figures and counters: %s\n" % os.path.relpath(path))
    return 0


def run_loss(args):
    """The part loss: measure, then print the table. Returns how many goals are missed."""
    path = os.path.join(args.out, "loss.csv")

    def wanted(_, name):
        return [point for point in loss.points(name)
                if point.case in args.cases and point.path in args.networks]

    _measure(args, wanted, True, path)
    lines, missed = loss.table(Samples().load(path))
    print("\n".join(lines))
    print("\n%d wanted ratios not met; all figures and counters: %s\n"
          % (missed, os.path.relpath(path)))
    return missed
