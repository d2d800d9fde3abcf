# SPDX-License-Identifier: GPL-2.0
"""What a test function gets: the guests, ways to run pairs of programs, and its verdicts."""

import itertools
import re
import socket
import time

from riglib import GuestLost, perftest

from . import rxe, siw, tap


# The least time for all of a test's undo steps.
_UNDO_S = 60


class TimeUp(Exception):
    """The test's own time limit is over."""


def _do_all(steps):
    """Try each step, then raise the first error. A lost guest ends it at once."""
    errors = []
    for step in steps:
        try:
            step()
        except GuestLost:
            raise
        except Exception as error:  # the next one may be possible
            errors.append(error)
    if errors:
        raise errors[0]


class Test:
    """One run of one test file with one pair of drivers."""

    # The TCP port where a tool's server waits for its client.
    TOOL_PORT = 18600

    def __init__(self, lab, report, pair, limit_s):
        self.lab, self.pair, self._report = lab, pair, report
        self.a, self.b = lab.guests()
        self.guests = (self.a, self.b)
        # All limits are for guests of usual speed, as everywhere in the rig.
        self.slow = self.a.slow
        self._deadline = time.monotonic() + limit_s * self.slow + (lab.soak_s or 0)
        self.allowed_log = []
        # Steps that clean up after the test, however it ends.
        self.undo = []
        self.is_tern = lab.device == "tern"

    # -- verdicts

    def case(self, name, ok, detail=""):
        """A verdict; the detail is shown if it is bad. Returns ok."""
        self._report.case(name, bool(ok), "" if ok else detail)
        return bool(ok)

    def skip(self, name, why):
        """Say that a case was not tried."""
        self._report.skip(name, why)

    def note(self, text):
        """A line for people."""
        self._report.note(text)

    def allow_log(self, *patterns):
        """Allow kernel log lines that this test causes on purpose."""
        self.allowed_log += patterns

    # -- running

    def left(self):
        """Seconds until the limit."""
        left = (self._deadline - time.monotonic()) / self.slow
        if left <= 0:
            raise TimeUp("the test's time limit is over")
        return left

    def length(self, usual):
        """The seconds for a test that can run for any time: `usual`, or those of --soak."""
        return self.lab.soak_s or usual

    def seed(self):
        """What a test that chooses at random begins with; a note says it."""
        self.note("seed %d" % self.lab.seed)
        return self.lab.seed

    def again(self):
        """Yields seed(), and with --soak the numbers behind it until its time is over."""
        until = time.monotonic() + (self.lab.soak_s or 0)
        for number in itertools.count(self.seed()):
            yield number
            if time.monotonic() >= until:
                return

    def sleep(self, seconds):
        """Sleep, in slow guests for longer."""
        time.sleep(seconds * self.slow)

    def undo_now(self):
        """Run the undo steps, in order, once. A test that is out of time gets more for that."""
        deadline = self._deadline
        self._deadline = max(deadline, time.monotonic() + _UNDO_S * self.slow)
        steps, self.undo = self.undo, []
        try:
            _do_all(steps)
        finally:
            self._deadline = deadline

    def run(self, guest, what, timeout=30, **how):
        """Run a command to its end, within both limits."""
        return guest.run(what, timeout=min(timeout, self.left()), **how)

    def start(self, guest, what, timeout=60, **how):
        """Start a command."""
        return guest.start(what, timeout=min(timeout, self.left()), **how)

    def check_run(self, name, guest, what, timeout=30, expect=0):
        """A case: the command ends with the expected code."""
        result = self.run(guest, what, timeout)
        self.case(name, result.rc == expect, "exit %d%s: %s\n%s%s" % (
            result.rc, " (time limit)" if result.timed_out else "", what, result.out[-1500:],
            result.err[-1500:]))
        return result

    def dev(self, guest, netdev="eth0"):
        """The RDMA device's name."""
        return self.lab.device_on(guest, netdev)

    def gid_index(self, guest, address, device=None):
        """The index of the RoCEv2 GID of an address."""
        device = device or self.dev(guest)
        if ":" in address:
            packed = socket.inet_pton(socket.AF_INET6, address)
        else:
            packed = bytes(10) + b"\xff\xff" + bytes(map(int, address.split(".")))
        gid = ":".join("%02x%02x" % (packed[i], packed[i + 1]) for i in range(0, 16, 2))
        out = self.run(guest, r"""cd /sys/class/infiniband/%s/ports/1
            for i in $(grep -l %s gids/*); do i=${i#gids/}
            grep -q v2 gid_attrs/types/$i && echo $i; done 2>/dev/null | sort -n | head -n 1"""
                       % (device, gid)).out.strip()
        return int(out) if out else None

    def wait_gid(self, guest, address, device=None, limit_s=5):
        """Wait until gid_index() has one."""
        deadline = time.monotonic() + limit_s * self.slow
        while self.gid_index(guest, address, device) is None:
            if time.monotonic() > deadline:
                raise AssertionError("no GID of " + address)
            time.sleep(0.1)

    def wait_port(self, guest, port, limit_s=15, netns=None):
        """Wait until a program listens on a TCP port, possibly in a network namespace."""
        guest.wait_until("%sgrep -qi ':%04X [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6"
                         % ("ip netns exec %s " % netns if netns else "", port),
                         timeout=limit_s, every=0.05)

    def wait_cm_listen(self, guest, limit_s=15):
        """Wait until a program listens by rdma_cm."""
        guest.wait_until("rdma resource show cm_id | grep -q 'state LISTEN'", timeout=limit_s,
                         every=0.1)

    def counter_file(self, guest, counter, netdev="eth0"):
        """The path of this counter of the guest's device."""
        return "/sys/class/infiniband/%s/ports/1/hw_counters/%s" % (self.dev(guest, netdev),
                                                                    counter)

    def counter(self, guest, counter, netdev="eth0"):
        """The counter's value."""
        return int(self.run(guest, "cat " + self.counter_file(guest, counter, netdev),
                            check=True).out)

    def counters(self, guest):
        """{name: value} of the guest's device on eth0."""
        words = self.run(guest, "rdma statistic show link %s/1" % self.dev(guest)).out.split()[2:]
        return dict(zip(words[::2], map(int, words[1::2])))

    def counted_since(self, guest, before):
        """How much each counter has grown since counters() returned `before`."""
        return {name: value - before.get(name, 0) for name, value in self.counters(guest).items()}

    def has_grown(self, guest, counter, by, netdev="eth0"):
        """A shell condition: this counter has grown by `by` since this call."""
        return "[ $(cat %s) -ge %d ]" % (self.counter_file(guest, counter, netdev),
                                         self.counter(guest, counter, netdev) + by)

    def pair_run(self, server, client, port=None, timeout=60, head_start=0.7, at=None, ready=None):
        """Run the server in b, or in guest `at`, and the client in a; returns both results.

        The client starts when the server listens on the TCP port, or by rdma_cm ("cm"), or when the
        shell condition `ready` holds there; without these after head_start seconds. Tries again after
        a known failure of perftest, or a wrong CRC of siw.
        """
        for _ in range(perftest.TRIES):
            crc_errors = siw.crc_errors(self)
            results = self._pair_once(at or self.b, server, client, port, timeout, head_start, ready)
            if perftest.lost_race(results[1]):
                self.allow_log(perftest.CRASH_LOG)
                self.note("perftest's server was late: try again")
            elif siw.crc_errors(self) > crc_errors:
                self.note("siw has sent a wrong CRC: try again")
            else:
                break
        return results

    @staticmethod
    def kill(*commands, signal=9):
        """Send the signal to all of them, and wait until they have ended."""
        for command in commands:
            command.kill(signal)
        for command in commands:
            # A process with iWARP connections may wait a minute for iw_cm's answers.
            command.wait(timeout=70)

    def endless(self, command, moves, host=None):
        """Start a perftest that the test has to end; returns (server, client).

        Waits until the shell condition `moves` holds in a, or until the client ends.
        """
        for _ in range(perftest.TRIES):
            server = self.start(self.b, "%s -d %s" % (command, self.dev(self.b)), 90)
            self.wait_port(self.b, 18515)
            client = self.start(self.a, "%s -d %s %s" % (command, self.dev(self.a),
                                                         host or self.b.address), 90)
            self.a.wait_until("%s || ! pgrep %s" % (moves, command.split()[0]), timeout=20)
            # By then the end of a crashed program has been noticed.
            self.sleep(0.5)
            if client.running or not perftest.lost_race(client.wait()):
                break
            self.allow_log(perftest.CRASH_LOG)
            self.kill(server)
        return server, client

    def _pair_once(self, guest, server, client, port, timeout, head_start, ready):
        listening = self.start(guest, server, timeout)
        try:
            if port == "cm":
                self.wait_cm_listen(guest)
            elif port:
                self.wait_port(guest, port)
            elif ready:
                guest.wait_until(ready, timeout=15)
            else:
                self.sleep(head_start)
            result = self.run(self.a, client, timeout)
            if result.rc:
                # A server may wait for ever if its client failed.
                self.sleep(0.5)
                listening.kill(15)
            return listening.wait(), result
        finally:
            if listening.running:
                listening.kill(9)

    def pair_case(self, name, server, client, port=None, timeout=60, head_start=0.7, want=None,
                  at=None, ready=None):
        """A case: both end with 0, and the client's output matches `want`."""
        there, here = self.pair_run(server, client, port, timeout, head_start, at, ready)
        ok = here.rc == 0 and there.rc == 0
        if ok and want:
            ok = re.search(want, here.out) is not None
        return self._excused(name, name, ok, "client exit %d: %s\n%s%s\nserver exit %d: %s\n%s%s" % (
            here.rc, client, here.out[-1200:], here.err[-1200:], there.rc, server,
            there.out[-1200:], there.err[-1200:]))

    # -- the C++ tools

    def tool_start(self, program, args="", timeout=120, netdev="eth0", host=None, at=None,
                   server_args=""):
        """Start both processes of a tool, the client in a; returns (server, client).

        The server is in b, or in guest `at`.
        """
        timeout = min(timeout, self.left())
        at = at or self.b
        server = self.start(at, "/tern/%s -n %s %s" % (program, netdev, server_args), timeout)
        self.wait_port(at, self.TOOL_PORT)
        client = self.start(self.a, "/tern/%s -n %s %s %s" % (
            program, netdev, args, host or at.address), timeout)
        return server, client

    def tool(self, program, args="", timeout=120, prefix="", netdev="eth0", host=None, at=None):
        """Run a two-process tool; each of its TAP lines becomes a case here."""
        server, client = self.tool_start(program, args, timeout, netdev, host, at)
        result = client.wait()
        self.finish(server)
        self.take_tap(result, prefix)
        return result

    @staticmethod
    def finish(command, limit_s=15):
        """Wait for a command's end; kill it after limit_s. True if it ended by itself."""
        deadline = time.monotonic() + limit_s * command.guest.slow
        while command.running and time.monotonic() < deadline:
            time.sleep(0.1)
        if not command.running:
            return True
        command.kill(9)
        command.wait(timeout=30)
        return False

    def take_tap(self, result, prefix=""):
        """Turn TAP output into cases. Incomplete output is a failure."""
        plan, cases = tap.parse(result.out)
        for case in cases:
            name = prefix + case.name
            if case.skipped is not None:
                self.skip_or_fail(name, case.skipped)
            else:
                self._excused(name, case.name, case.ok, case.why)
        if len(cases) != plan or not plan:
            self.case(prefix + "all cases ran", False, "%d of %d, exit %d\n%s\n%s" % (
                len(cases), plan, result.rc, result.out[-800:], result.err[-800:]))
        return len(cases)

    def _excused(self, name, case, ok, why):
        """A case that is skipped if it fails by a known fault of rxe in `case`."""
        is_rxe = [self.lab.driver_of(self.pair, guest) == "rxe" for guest in "ab"]
        known = None if ok else rxe.fault(case, *is_rxe, self.lab.version)
        if known:
            self.skip(name, known)
            return False
        return self.case(name, ok, why)

    def skip_or_fail(self, name, why):
        """Between two tern ends a skipped case is a failure, unless the machine is the reason."""
        excused = re.search(r"huge page|only one|not on this machine", why)
        if self.is_tern and self.pair == "tern-tern" and not excused:
            self.case(name, False, "skipped by the tool: " + why)
        else:
            self.skip(name, why)
