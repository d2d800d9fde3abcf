# SPDX-License-Identifier: GPL-2.0
"""The command line, and the files made from samples."""

import argparse
import fnmatch
import os
import signal
import sys
import time

from riglib import RigError
from vmtest import where

from . import campaign, machine, page, plots, table
from .cases import CASES, LINKS, MTUS, SUBJECTS
from .store import Samples

_EPILOG = """\
All of it takes an hour and three quarters on two idle cores without KVM, and longer on a busy
machine; --quick takes about 5 minutes.
build/bench/ then has samples.csv (every sample, written as it is made), table.csv, index.html
with plots beside it, and machine.json. The samples of the run before are kept, as
samples-before.csv.

examples:
  bench/vm/run --quick
  bench/vm/run --links plain --mtus 1500 --cases 'write-*' --cases lat-2
  bench/vm/run --subjects tern_roce,rxe,tcp --rounds 9
  bench/vm/run --plots-only
"""


def _words(allowed, convert=str):
    def parse(text):
        chosen = [convert(word) for word in text.split(",")]
        unknown = [word for word in chosen if word not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError("%s is none of %s" % (
                unknown[0], ", ".join(str(word) for word in allowed)))
        # In the order of the table, not of the option.
        return [word for word in allowed if word in chosen]
    return parse


def _arguments():
    parser = argparse.ArgumentParser(
        prog="bench/vm/run", epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures tern beside rxe, siw, TCP, UDP and memcpy in the same two virtual\n"
                    "machines, turn by turn, and says which of the wanted ratios are met.")
    parser.add_argument("--rounds", type=int, default=5, help="of all subjects (5)")
    parser.add_argument("--cases", metavar="GLOB", action="append", default=[],
                        help="only these, such as 'write-*' (repeatable)")
    parser.add_argument("--list", action="store_true", help="list the cases and end")
    parser.add_argument("--links", type=_words(LINKS), default=list(LINKS), metavar="L,..",
                        help="plain: no offloads, every packet of MTU size; tap: TAPs on a bridge "
                        "with offloads, takes root (plain,tap)")
    parser.add_argument("--mtus", type=_words(MTUS, int), default=list(MTUS), metavar="N,..",
                        help="1500,9000")
    parser.add_argument("--subjects", type=_words(SUBJECTS), default=list(SUBJECTS),
                        metavar="S,..", help=",".join(SUBJECTS))
    parser.add_argument("--with-6.12", dest="with_612", action="store_true",
                        help="also rxe of the kernel 6.12 that apt has, in guests of its own")
    parser.add_argument("--seconds", type=float, metavar="S",
                        help="of a run, instead of the case's own (0.8 to 2.5)")
    parser.add_argument("--quick", action="store_true",
                        help="one round of some cases, plain link, MTU 1500, a second a run")
    parser.add_argument("--no-pin", dest="pin", action="store_false",
                        help="let the guests have any of the host's CPUs, instead of half each")
    parser.add_argument("--limit", type=float, default=180, metavar="MINUTES",
                        help="measure no longer, and report what there is (180)")
    parser.add_argument("--out", default=os.path.join(where.BUILD, "bench"), metavar="DIR",
                        help="where all goes (build/bench)")
    parser.add_argument("--plots-only", action="store_true",
                        help="measure nothing: tables, plots and page of the samples in DIR")
    args = parser.parse_args()
    if args.rounds < 1 or (args.seconds is not None and args.seconds <= 0):
        parser.error("--rounds and --seconds are to be positive")
    if args.quick:
        args.rounds, args.links, args.mtus = 1, ["plain"], [1500]
        args.seconds = args.seconds or 1
    return args


def _chosen(args):
    cases = [case for case in CASES if not args.quick or args.cases or case.quick]
    if args.cases:
        cases = [case for case in cases
                 if any(fnmatch.fnmatch(case.name, pattern) for pattern in args.cases)]
    return cases


def _report(args, samples, facts):
    """Write tables, plots and the page."""
    table.show(samples)
    table.write(samples, os.path.join(args.out, "table.csv"))
    drawn = plots.draw(samples, args.out)
    page.write(samples, facts, drawn, os.path.join(args.out, "index.html"))
    print("\n%s has it all" % os.path.relpath(os.path.join(args.out, "index.html")))


def _run(args, cases):
    if not campaign.name_is_free():
        sys.exit("bench: a rig called %s is up: 'qemu/rig down --name %s' ends it"
                 % (campaign.RIG, campaign.RIG))
    campaign.prepare(args.subjects)
    os.makedirs(args.out, exist_ok=True)
    facts = dict(machine.describe(), rounds=str(args.rounds))
    began = time.monotonic()

    def say(text):
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        print("[%3d:%02d] %s" % (minutes, seconds, text), flush=True)

    samples = Samples()
    samples.open(os.path.join(args.out, "samples.csv"))
    work = campaign.Campaign(args, cases, samples, say)
    whole = False
    try:
        whole = work.run()
    finally:
        samples.close()
        facts["load after"] = machine.load_average()
        facts.update(work.facts, minutes="%.0f" % ((time.monotonic() - began) / 60),
                     complete="yes" if whole else "no")
        facts["without a figure"] = ["%s, %d rounds" % (" ".join(map(str, point)), count)
                                     for point, count in work.missing().items()]
        machine.save(facts, os.path.join(args.out, "machine.json"))
    return samples, facts


def main():
    """The program. Returns its exit code: 0 if all was measured, whatever the figures are."""
    args = _arguments()
    cases = _chosen(args)
    if args.list:
        for case in cases:
            print("%-18s %s" % (case.name, case.title))
        return 0
    if not cases:
        sys.exit("bench: no case matches")
    # Then the guests and their network are ended properly.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: terminated"))
    try:
        if args.plots_only:
            samples = Samples().load(os.path.join(args.out, "samples.csv"))
            facts = machine.load(os.path.join(args.out, "machine.json"))
        else:
            samples, facts = _run(args, cases)
        if not samples.points():
            sys.exit("bench: there is no sample")
        _report(args, samples, facts)
    except KeyboardInterrupt:
        sys.exit("bench: interrupted; --plots-only reports what there is")
    except (RigError, where.Missing, OSError) as error:
        sys.exit("bench: %s" % error)
    return 0 if facts.get("complete") == "yes" else 1
