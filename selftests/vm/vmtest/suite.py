# SPDX-License-Identifier: GPL-2.0
"""Finds the tests, runs each with its pairs of drivers, and checks the guests after it."""

import argparse
import fnmatch
import glob
import importlib.util
import os
import re
import sys
import traceback

from riglib import GuestLost, RigError, apt
from riglib.rig import CONTAINERS

from . import klog, native, where
from .context import Test, TimeUp
from .ktap import Report
from .lab import PAIRS, Lab

# The tests that show in a few minutes that tern works with a kernel and a userland.
CORE = ("basics", "pingpong", "verify", "rdmacm", "errors", "iwarp", "iwarp_verbs")

# The tests that can run for any time.
SOAKED = ("chaos", "ring_corruption", "malformed_packets", "iwarp_hostile_peer", "unplug")

# Programs that an interrupted test may have left running.
_MAY_BE_RUNNING = where.PROGRAMS + ("fio", "rping", "ib_write_bw")


class Entry:
    """A test file with one pair of drivers."""

    def __init__(self, path, pair):
        base = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location("vm_" + base, path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.pair = pair
        self.name = "%s[%s]" % (re.sub(r"^\d+_", "", base), pair)
        self.limit_s = getattr(self.module, "LIMIT", 60)
        self.long = getattr(self.module, "LONG", False) or \
            pair in getattr(self.module, "LONG_PAIRS", ())
        # It needs the roots of other suites in the guests.
        self.containers = getattr(self.module, "CONTAINERS", False)
        self.title = (self.module.__doc__ or "").strip().splitlines()[0]


def _is_named(name, patterns):
    """Does a --tests pattern match this name?

    A pattern is a glob of the test's name, with or without "[pair]", whose brackets may be plain.
    """
    plain = [pattern.replace("[", "[[]") for pattern in patterns]
    return any(fnmatch.fnmatch(name, pattern)
               for pattern in patterns + plain + [pattern + "[[]*" for pattern in plain])


def discover(args):
    """The entries to run, those with the same pair together."""
    entries = []
    for path in sorted(glob.glob(os.path.join(where.VM, "tests", "[0-9]*.py"))):
        probe = Entry(path, "tern-tern")
        if args.core and probe.name.split("[")[0] not in CORE:
            continue
        for pair in getattr(probe.module, "PAIRS", ("tern-tern",)):
            if args.device == "rxe" and pair != "tern-tern":
                continue
            entry = Entry(path, pair)
            exact = any(entry.name.startswith(p.split("[")[0] + "[") for p in args.tests)
            if args.tests and not _is_named(entry.name, args.tests):
                continue
            if entry.long and not args.long and not exact:
                continue
            entries.append(entry)
    return sorted(entries, key=lambda entry: PAIRS.index(entry.pair))


def _first_report(lost):
    """The first report of a lost guest: a test's own `finally` may have met the loss again."""
    while isinstance(lost.__context__, GuestLost):
        lost = lost.__context__
    return lost


class Runner:
    """Runs entries one after the other."""

    def __init__(self, lab, report):
        self.lab, self.report = lab, report

    def run(self, entry):
        """Run one entry, and handle all that can go wrong in it."""
        self.report.begin(entry.name)
        why_not = native.left_out(entry) if self.lab.native else None
        if why_not:
            self.report.skip("all of it", why_not)
            return self.report.end()
        for again in (False, True):
            try:
                self._run(entry)
            except GuestLost as error:
                lost = _first_report(error)
                if not again and self._is_peers_own(entry, lost):
                    self.report.note("the peer's kernel crashed in its own code: try again with "
                                     "new guests:\n%s" % str(lost)[-3000:])
                    self._reboot()
                    continue
                self.report.case("no guest crashes", False, str(lost)[-6000:])
                self._reboot()
            except RigError as error:
                self.report.case("the rig works", False, str(error)[-3000:])
                self._reboot()
            break
        return self.report.end()

    def _is_peers_own(self, entry, lost):
        """A guest with the kernel's rxe or siw panicked, and tern is not in the trace: not tern's failure.

        Seen: a double fault in rxe's work item, 6.12, QEMU 7.2. The report says so.
        """
        return lost.kind == "panic" and lost.guest in ("a", "b") and \
            self.lab.driver_of(entry.pair, lost.guest) in ("rxe", "siw") and \
            self.lab.device == "tern" and "[tern]" not in str(lost)

    def _reboot(self):
        self.report.note("rebooting the guests")
        self.lab.reboot()

    def _run(self, entry):
        self.lab.set_up(entry.pair)
        test = Test(self.lab, self.report, entry.pair, entry.limit_s)
        marks = {guest.name: guest.dmesg_mark() for guest in self.lab.guests()}
        broken = False
        try:
            entry.module.run(test)
        except TimeUp:
            broken = True
            self.report.case("within %d s" % (entry.limit_s * test.slow), False, "time limit")
        except (GuestLost, KeyboardInterrupt):
            # Nothing can be undone in a lost guest; after Ctrl-C there is no need to.
            raise
        except Exception:  # a bug in the test, or a command that had to succeed
            broken = True
            self.report.case("test runs to its end", False, traceback.format_exc()[-3000:])
        test.undo_now()
        if broken:
            for guest in self.lab.guests():
                guest.run("pkill -9 -x '%s'; true" % "|".join(_MAY_BE_RUNNING))
        self._check_guests(entry, test, marks)
        self._check_network()

    def _check_network(self):
        """The guests reach each other. If not, the next tests get new ones."""
        if self.lab.reachable():
            return
        self.report.case("the guests reach each other", False, self.lab.network())
        self._reboot()

    def _check_guests(self, entry, test, marks):
        for guest in self.lab.guests():
            driver = self.lab.driver_of(entry.pair, guest.name)
            ours = driver in (self.lab.device, "iwarp")
            bad = klog.problems(guest.dmesg_since(marks[guest.name]), test.allowed_log)
            if ours:
                self.report.case("guest %s: kernel log is clean" % guest.name, not bad,
                                 "\n".join(bad))
            elif bad:
                self.report.note("%s's guest %s logged:\n%s" % (driver, guest.name, "\n".join(bad[:6])))
            left = self.lab.leaks(guest)
            if ours:
                self.report.case("guest %s: no object left" % guest.name, not left, left)
            elif left:
                self.report.note("%s's guest %s leaks: %s" % (driver, guest.name, left))

    def _check_memory(self, guest, when):
        """With a debug kernel: is there leaked memory that tern allocated?"""
        found = self.lab.lost_memory(guest)
        if found is None and self.lab.has_kmemleak:
            self.report.case("guest %s: kmemleak works" % guest.name, False,
                             "it is off, or fails")
        if found is not None:
            ours = [text for text in found if klog.is_ours(text)]
            self.report.case("guest %s: no memory is leaked %s" % (guest.name, when), not ours,
                             "\n".join(ours[:5]))
            if len(found) > len(ours):
                self.report.note("guest %s: %d leaked objects of others, such as\n%s" % (
                    guest.name, len(found) - len(ours),
                    next(text for text in found if text not in ours)))

    def unload(self):
        """The end of every run, unless its guests stay up: the module unloads without a message."""
        self.report.begin("unload")
        try:
            for guest in self.lab.guests():
                self._check_memory(guest, "before the module goes")
                mark = guest.dmesg_mark()
                for driver in ("rxe", "siw", self.lab.device):
                    self.lab.unload(guest, driver)
                bad = klog.problems(guest.dmesg_since(mark))
                self.report.case("guest %s: the module unloads quietly" % guest.name, not bad,
                                 "\n".join(bad))
                self._check_memory(guest, "after the module went")
        except RigError as error:
            self.report.case("the module unloads", False, str(error)[-3000:])
        return self.report.end()


def _parse_arguments():
    parser = argparse.ArgumentParser(
        prog="run", description="Tests tern in virtual machines. The last line counts the cases.")
    parser.add_argument("--tests", metavar="PATTERN", action="append", default=[],
                        help="only these, such as 'iwarp*' or 'perftest[tern-rxe]' "
                        "(repeatable)")
    parser.add_argument("--core", action="store_true", help="only " + ", ".join(CORE))
    parser.add_argument("--list", action="store_true", help="only list the tests")
    parser.add_argument("--device", choices=("tern", "rxe"), default="tern",
                        help="the driver under test; rxe is for developing the tests")
    parser.add_argument("--long", action="store_true", help="also the long tests")
    parser.add_argument("--rig", default="vmtest", metavar="NAME",
                        help="the rig's name; if it is up already it is used and left up")
    parser.add_argument("--keep", action="store_true", help="leave the guests up at the end")
    parser.add_argument("--smp", type=int,
                        help="virtual CPUs of each guest (1; native: as many as the host has)")
    parser.add_argument("--mem", type=int, help="MiB of each guest (1024; debug kernels: 2048)")
    parser.add_argument("--suite", choices=apt.SUITES, help="Debian release of the guests, in which "
                        "all that they run is built (default: the host's)")
    parser.add_argument("--containers", choices=CONTAINERS, default="released",
                        help="the Debian releases whose roots some tests use: the released ones "
                        "(default), or all, with testing")
    parser.add_argument("--kernel", metavar="V", help="as for qemu/rig: 'debug' and 'native-debug' "
                        "have lockdep, KASAN and others")
    parser.add_argument("--native", dest="kernel", action="store_const", const="native",
                        help="User Mode Linux instead of QEMU: the same as --kernel native")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="run the tests that can take "
                        "any time for that long each, and only them, unless --tests names some: "
                        + ", ".join(SOAKED))
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="what tests that choose at "
                        "random begin with (1); they print it")
    parser.add_argument("--slow", type=float, metavar="N", help="multiply all time limits (1; "
                        "debug kernel: 6; native-debug: 4); sets RIG_SLOW")
    args = parser.parse_args()
    args.tests = [p for pattern in args.tests for p in pattern.split(",")]
    if args.soak and not args.tests:
        args.tests += SOAKED
    return args


def main():
    """The program; returns its exit code."""
    args = _parse_arguments()
    entries = discover(args)
    if args.list:
        for entry in entries:
            print("%-38s %4d s%s  %s" % (entry.name, entry.limit_s, " long" if entry.long else "",
                                         entry.title))
        return 0
    if not entries:
        sys.exit("run: no test matches")
    if args.slow:
        os.environ["RIG_SLOW"] = "%g" % args.slow
    containers = args.containers if any(entry.containers for entry in entries) else None
    lab = Lab(args.rig, args.device, args.smp, args.mem, args.kernel, args.keep,
              suite=args.suite, containers=containers)
    lab.soak_s = args.soak and args.soak * 60
    lab.seed = args.seed
    lab.long = args.long
    try:
        lab.up()
    except where.Missing as missing:
        sys.exit("run: %s" % missing)
    try:
        report = Report(len(entries) + (not args.keep))
        runner = Runner(lab, report)
        for entry in entries:
            runner.run(entry)
        if not args.keep:
            runner.unload()
        return report.finish()
    finally:
        lab.down()
