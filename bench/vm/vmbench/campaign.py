# SPDX-License-Identifier: GPL-2.0
"""The order of all: which guests are booted, and which subject is measured when.

Within a round the subjects take turns. Their order changes from round to round, because the speed
of a host changes within minutes and should be the same for all. A foreign driver that fails is
tried once more, and not at all after two rounds without a figure.
"""

import math
import time
from dataclasses import dataclass

from riglib import GuestLost, Rig, RigError, kernel
from vmtest import context, where
from vmtest.lab import Lab

from . import clock, kinds, places
from .cases import LINKS, NO_CRC, RXE_612, SUBJECTS, Case
from .measure import Measure
from .store import Point
from .table import number as number_text

RIG = "bench"
# Of the guests, whatever the host is: rxe's figures are those of Debian 12's.
SUITE = "bookworm"
_STEP_LIMIT_S = 240
# An emulator has to translate a driver again after each load.
_WARM_UP = Case("warm-up", "", "bandwidth", tool="ib_write_bw", size=65536)


class Stop(Exception):
    """The time for the whole run is over."""


@dataclass(frozen=True)
class Setting:
    """Guests of one boot."""
    link: str
    vcpus: int
    kernel: str = None

    def text(self):
        """For messages."""
        return "%s link, %d vCPU%s" % (self.link, self.vcpus,
                                       ", kernel " + self.kernel if self.kernel else "")


class Notes:
    """A Test's messages go to the progress. Nothing is judged."""

    def __init__(self, say):
        self.note = say


class Campaign:
    """Runs all settings, MTUs, rounds and subjects that were asked for."""

    def __init__(self, options, cases, samples, say):
        self.options, self.cases, self.samples, self._say = options, cases, samples, say
        self._measure = Measure(options.seconds)
        self._misses = {}
        self._lab = None
        self._deadline = time.monotonic() + 60 * options.limit
        self.facts = {}

    # -- what to do

    def settings(self):
        """The settings that the cases need."""
        wanted = [Setting(link, vcpus) for vcpus in (1, 2) for link in self.options.links]
        if self.options.with_612:
            wanted += [Setting(link, 1, "6.12") for link in self.options.links]
        return [setting for setting in wanted if any(
            self._cases(setting, mtu, 0, subject) for mtu in self.options.mtus
            for subject in self._subjects(setting))]

    def _subjects(self, setting):
        return [RXE_612] if setting.kernel else self.options.subjects

    def _cases(self, setting, mtu, number, subject):
        """The cases of this subject in this round."""
        of = "rxe" if subject == RXE_612 else subject
        return [case for case in self.cases
                if case.booted == setting.vcpus and setting.link in case.links
                and mtu in case.mtus and of in case.subjects and number < case.rounds]

    # -- doing it

    def run(self):
        """Run all. Returns False if the time was over first."""
        whole = True
        try:
            for setting in self.settings():
                try:
                    self._setting(setting)
                except RigError as error:
                    whole = False
                    self._say("%s: given up: %s" % (setting.text(), _gist(error)))
        except Stop:
            whole = False
            self._say("the time for the whole run is over: what there is, is reported")
        return whole

    def _setting(self, setting):
        device = "rxe" if setting.kernel else "tern"
        self._lab = Lab(RIG, device, smp=setting.vcpus, kernel=setting.kernel,
                        net=LINKS[setting.link], mtu=max(self.options.mtus), suite=SUITE)
        try:
            self._lab.up()
            self._settle(setting)
            self._remember(setting)
            for mtu in self.options.mtus:
                self._mtu(setting, mtu)
        finally:
            self._lab.down()

    def _settle(self, setting):
        """After each boot: place the guests on CPUs and check their clocks."""
        for _ in range(3):
            self._place(setting)
            paces = [clock.pace(guest) for guest in self._lab.guests()]
            text = ", ".join("%.3f" % pace for pace in paces)
            if all(abs(pace - 1) <= clock.TOLERANCE for pace in paces):
                break
            self._say("the guests' clocks are wrong (%s): new guests" % text)
            self._lab.reboot()
        else:
            raise RigError("no guests with right clocks: is the host too busy to boot them?")
        self.facts.setdefault("guests' seconds in one of the host", []).append(
            "%s: %s" % (setting.text(), text))

    def _place(self, setting):
        guests = self._lab.guests()
        shares = places.shares(len(guests), setting.vcpus) if self.options.pin else []
        for guest, cpus in zip(guests, shares):
            places.pin(guest, cpus)
        self.facts.setdefault("guests' CPUs", {})[setting.text()] = "; ".join(
            "%s on %s" % (guest.name, ",".join(map(str, sorted(cpus))))
            for guest, cpus in zip(guests, shares)) or "any"

    def _remember(self, setting):
        rig = Rig.attach(RIG)
        self.facts["accel"] = rig.options.get("accel", "?")
        release = rig["a"].run("uname -r", timeout=20, check=True).out.strip()
        self.facts.setdefault("guest kernels", {})[setting.kernel or "default"] = release

    def _mtu(self, setting, mtu):
        for number in range(self.options.rounds):
            subjects = [s for s in self._subjects(setting)
                        if self._cases(setting, mtu, number, s)]
            turn = number % len(subjects) if subjects else 0
            for subject in subjects[turn:] + subjects[:turn]:
                self._subject(setting, mtu, number, subject)

    def _subject(self, setting, mtu, number, subject):
        """One subject's turn. Boots the guests again if necessary."""
        pair = "rxe-rxe" if subject == RXE_612 else SUBJECTS[subject]
        left = self._cases(setting, mtu, number, subject)
        for _ in range(3):
            try:
                self._prepare(pair, mtu, subject)
                while left:
                    self._case(setting, mtu, number, subject, left[0])
                    left.pop(0)
                return
            except RigError as error:  # GuestLost is one
                lost = "guests lost" if isinstance(error, GuestLost) else "rig"
                self._say("%s: %s: %s: new guests" % (subject, lost, _gist(error)))
                if left:
                    self._miss(Point(setting.link, mtu, setting.vcpus, subject, left[0].name))
                    left.pop(0)
                self._lab.reboot()
                self._settle(setting)
        self._say("%s: given up in this round" % subject)

    def _prepare(self, pair, mtu, subject):
        set_up(self._lab, pair, mtu, subject)
        if not pair:
            return
        try:
            kinds.bandwidth(self._test(_WARM_UP, subject), _WARM_UP, subject, 20)
        except (RuntimeError, context.TimeUp):
            self._end_programs()

    def _case(self, setting, mtu, number, subject, case):
        for vcpus in case.vcpus:
            if time.monotonic() > self._deadline:
                raise Stop()
            self._online(setting, vcpus)
            point = Point(setting.link, mtu, vcpus, subject, case.name)
            if self._misses.get(point, 0) >= 2:
                continue
            for _ in range(2):
                try:
                    self._take(number, point, case, self._test(case, subject))
                    break
                except (RuntimeError, context.TimeUp) as error:
                    self._say("%s %s: %s" % (subject, case.name, _gist(error)))
                    self._end_programs()
            else:
                self._miss(point)

    def _test(self, case, subject):
        return kinds.Metered(self._lab, Notes(self._say), SUBJECTS.get(subject) or "tern-tern", case,
                       _STEP_LIMIT_S)

    def _take(self, number, point, case, test):
        for sample in self._measure.samples(test, point, case, point.subject):
            of = point._replace(case=point.case + sample.suffix)
            self.samples.add(number + 1, of, sample)
            if not sample.suffix:
                self._progress(number, of, sample)

    def _progress(self, number, point, sample):
        cpu = "" if math.isnan(sample.host_cpu_ns) else \
            "   host CPU %s ns a %s" % (number_text(sample.host_cpu_ns), sample.per)
        self._say("%d/%d %s %d%s %-11s %-16s %10s %s%s" % (
            number + 1, self.options.rounds, point.link, point.mtu,
            "" if point.vcpus == 1 else " %d vCPUs" % point.vcpus, point.subject, point.case,
            number_text(sample.value), sample.unit, cpu))

    def _miss(self, point):
        self._misses[point] = self._misses.get(point, 0) + 1

    def missing(self):
        """Points that had rounds without a figure, and the number of rounds."""
        return dict(self._misses)

    def _online(self, setting, vcpus):
        """Guests with two CPUs are also measured with one, at nearly the same time."""
        if setting.vcpus > 1:
            for guest in self._lab.guests():
                guest.run("f=/sys/devices/system/cpu/cpu1/online; [ $(cat $f) = %d ] || "
                          "echo %d >$f" % (vcpus > 1, vcpus > 1), timeout=20, check=True)

    def _end_programs(self):
        """End programs that a failed run may have left."""
        for guest in self._lab.guests():
            guest.run("pkill -9 -x 'ib_.*|iperf3|sockperf|vfair|strace'; true", timeout=20)


def _gist(error):
    """The first line, and the last if it differs."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" -\t")]
    lines = lines or [type(error).__name__]
    return ": ".join(dict.fromkeys((lines[0].rstrip(":")[:120], lines[-1].rstrip(":")[:120])))


def set_up(lab, pair, mtu, subject):
    """Prepare the guests for the subject. pair: the laboratory's, or None without a driver."""
    for guest in lab.guests():
        guest.run("ip link set eth0 mtu %d" % mtu, timeout=20, check=True)
    if not pair:
        return
    lab.set_up(pair)
    for guest in lab.guests():
        guest.run("f=/sys/module/tern/parameters/iwarp_crc; [ ! -e $f ] || echo %s >$f"
                  % ("N" if subject == NO_CRC else "Y"), timeout=20, check=True)


def name_is_free():
    """Check that no guests of this name run: they would be used, or ended."""
    try:
        rig = Rig.attach(RIG)
    except GuestLost:
        return True
    return not any(guest.alive() for guest in rig)


def prepare(subjects):
    """Build what is missing, before time counts."""
    release = kernel.choose(None, SUITE)
    where.build_tools(SUITE)
    if "siw" in subjects:
        where.siw_file(SUITE, release)
    where.driver_files(SUITE, release)
