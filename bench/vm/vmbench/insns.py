# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions that guests execute for an operation, by function.

A QEMU plugin (../insns) counts each translated block. A case is run twice, short and long, and the
difference of the counts is divided by that of the operations, so start, connection and end are not
in it. It counts the kernel's instructions, with each repetition of string instructions; what each
one costs is not known. Other load on the host hardly changes the counts. Programs are not counted:
how long they spin varies.
"""

import argparse
import bisect
import collections
import os
import shlex
import socket
import subprocess
import sys

from riglib import RigError
from vmtest import context, where
from vmtest.lab import Lab

from . import kinds
from .campaign import RIG, Notes, name_is_free, set_up
from .cases import BY_NAME, LINKS, MTUS, SUBJECTS

_EPILOG = """\
Guests are emulated (TCG), whatever the host has, and take some seconds to boot; then a case takes
about ten seconds.

examples:
  bench/vm/profile rate-64 tern_roce
  bench/vm/profile write-64K tern_iwarp tcp --top 15
"""
_KINDS = ("bandwidth", "veth", "rate", "latency")
_KERNEL = 1 << 63
_LONG = 10     # times the operations of the short run
_TRIES = 5


def _arguments():
    parser = argparse.ArgumentParser(
        prog="bench/vm/profile", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Counts the instructions that both guests execute for an operation of a case,\n"
                    "by function of the kernel and its modules.")
    parser.add_argument("case", help="as bench/vm/run --list has them; no udp, fair, calls, memcpy")
    parser.add_argument("subjects", nargs="+", metavar="subject", choices=list(SUBJECTS),
                        help="of the case; or tcp, whose one case it is measured by")
    parser.add_argument("--top", type=int, default=30, help="functions of each guest (30)")
    parser.add_argument("--mtu", type=int, default=1500, choices=MTUS, help="1500 or 9000")
    parser.add_argument("--link", default="plain", choices=list(LINKS), help="plain or tap")
    args = parser.parse_args()
    if args.case not in BY_NAME or BY_NAME[args.case].kind not in _KINDS:
        parser.error("there is no case %s of bandwidth, veth, rate or latency" % args.case)
    for subject in args.subjects:
        if subject not in BY_NAME[args.case].subjects + ("tcp",):
            parser.error("%s has no case %s" % (subject, args.case))
    return args


def _plugin():
    """The path of the plugin, which is built if it is missing or old."""
    source = os.path.join(where.TOP, "bench", "vm", "insns", "insns.cc")
    folder = os.path.join(where.BUILD, "bench-vm")
    library = os.path.join(folder, "insns.so")
    if not os.path.exists(library) or os.path.getmtime(library) < os.path.getmtime(source):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared",
                        "-o", library, source], check=True)
    return library


def _counts(guest):
    """{(address, instructions): times} until now."""
    pid = guest.process.pid
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect("/proc/%d/cwd/insns.%d" % (pid, pid))
        with sock.makefile() as lines:
            words = [line.split() for line in lines]
    counts = {(int(address, 16), int(n)): int(times) for address, n, times in words}
    return {block: times for block, times in counts.items() if block[0] >= _KERNEL}


class Symbols:
    """Symbols of a guest's kernel and its loaded modules."""

    def __init__(self, guest):
        found = []
        for line in guest.run("cat /proc/kallsyms", timeout=60, check=True).out.splitlines():
            address, kind, name = line.split(None, 2)
            if kind in "tTwW":
                found.append((int(address, 16), " ".join(name.split())))
        found.sort()
        self._addresses = [address for address, _ in found]
        self._names = [name for _, name in found]

    def at(self, address):
        """The name of the function at an address, and whether it begins there."""
        i = bisect.bisect(self._addresses, address) - 1
        return (self._names[i], self._addresses[i] == address) if i >= 0 else ("?", False)


class Profile:
    """Instructions and calls of functions in one guest."""

    def __init__(self):
        self.insns = collections.Counter()
        self.calls = collections.Counter()

    def add(self, before, after, symbols, sign):
        """Add what was executed between two counts, or subtract it (-1)."""
        for (address, n), times in after.items():
            times = sign * (times - before.get((address, n), 0))
            if times:
                name, begins = symbols.at(address)
                self.insns[name] += times * n
                if begins:
                    self.calls[name] += times

    def show(self, title, operations, top):
        """A table for one operation."""
        total = sum(self.insns.values())
        parts = collections.Counter()
        for name, n in self.insns.items():
            parts[name.rpartition("[")[2].rstrip("]") if name.endswith("]") else "kernel"] += n
        print("\n%s: %.0f instructions: %s" % (title, total / operations, ", ".join(
            "%s %.0f" % (part, n / operations) for part, n in parts.most_common(6))))
        for name, n in self.insns.most_common(top):
            print("%5.1f %% %10.1f  %8.2f calls  %s" % (
                100 * n / total, n / operations, self.calls[name] / operations, name))


class Once(kinds.Metered):
    """A test that counts runs of programs: perftest is repeated if it does not trust the clock."""

    runs = 0

    def pair_run(self, *args, **how):
        self.runs += 1
        return super().pair_run(*args, **how)


def _counted(test, case, subject, amount, guests):
    """The number of operations, and the counts before and after."""
    for _ in range(_TRIES):
        test.runs = 0
        before = [_counts(guest) for guest in guests]
        operations = getattr(kinds, case.kind)(test, case, subject, amount).operations
        if test.runs <= 1:
            return operations, before, [_counts(guest) for guest in guests]
    raise RuntimeError("%s took more than one run, %d times" % (case.name, _TRIES))


def _measure(lab, case, subject, top):
    test = Once(lab, Notes(print), SUBJECTS[subject] or "tern-tern", case, 240)
    guests = lab.guests()[:1] if case.local else lab.guests()
    profiles = [Profile() for _ in guests]
    # One run before, so that the emulator has translated all.
    _counted(test, case, subject, case.first, guests)
    short = _counted(test, case, subject, case.first, guests)
    long = _counted(test, case, subject, case.first * _LONG, guests)
    operations = long[0] - short[0]
    for i, (guest, profile) in enumerate(zip(guests, profiles)):
        symbols = Symbols(guest)
        for sign, (_, before, after) in ((-1, short), (1, long)):
            profile.add(before[i], after[i], symbols, sign)
        profile.show("%s %s, guest %s, a %s" % (
            subject, case.name, guest.name,
            "round trip" if case.kind == "latency" else "message"), operations, top)


def _run(args):
    if not name_is_free():
        sys.exit("profile: a rig called %s is up: 'qemu/rig down --name %s' ends it" % (RIG, RIG))
    os.environ["RIG_ACCEL"] = "tcg"
    os.environ["RIG_QEMU_ARGS"] = "-plugin " + shlex.quote(_plugin())
    lab = Lab(RIG, "tern", smp=BY_NAME[args.case].booted, net=LINKS[args.link], mtu=max(MTUS))
    try:
        lab.up()
        for subject in args.subjects:
            set_up(lab, SUBJECTS[subject], args.mtu, subject)
            case = BY_NAME[args.case if SUBJECTS[subject] else "tcp"]
            _measure(lab, case, subject, args.top)
    finally:
        lab.down()


def main():
    """The program. Returns its exit code."""
    args = _arguments()
    try:
        _run(args)
    except KeyboardInterrupt:
        sys.exit("profile: interrupted")
    except (RigError, RuntimeError, context.TimeUp, where.Missing, OSError,
            subprocess.CalledProcessError) as error:
        sys.exit("profile: %s" % error)
    return 0
