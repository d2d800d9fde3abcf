# SPDX-License-Identifier: GPL-2.0
"""How each kind of case is run: one run of a program, and its figure from the output.

A kind takes the test, the case, the subject and the amount (operations per QP, or seconds if the
case is timed). It raises RuntimeError or RigError if there is no figure.
"""

import math
import os
import re
import shlex
from dataclasses import dataclass

from vmtest import context, netns, speed

from .cases import BY_CM, MIB

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9)
# Seconds for a program: many QPs need time to connect.
_LIMIT_S = 60
_COUNTED = "/tmp/bench-calls"


@dataclass
class Result:
    """The result of a run. The first value is the case's figure. Others have a suffix."""
    values: list            # (suffix, value, unit)
    operations: float
    per_second: float
    cpu_s: float            # of all QEMU processes while the client ran
    per: str = "message"    # the name of an operation
    each: float = 1         # of them per operation


class _Namespace:
    """A network namespace of a guest (netns) in the place of another guest."""
    address = netns.FAR

    def __init__(self, guest):
        self._guest = guest

    @staticmethod
    def _inside(what):
        return "exec ip netns exec n1 sh -c " + shlex.quote(what)

    def start(self, what, timeout=60, **how):
        """As for a guest."""
        return self._guest.start(self._inside(what), timeout, **how)

    def wait_until(self, what, **how):
        """As for a guest."""
        return self._guest.wait_until(self._inside(what), **how)


class Metered(context.Test):
    """A test that knows the CPU time of the guests' QEMU processes during the last run()."""

    def __init__(self, lab, report, pair, case, limit_s):
        super().__init__(lab, report, pair, limit_s)
        self._processes = [guest.process for guest in self.guests]
        self.cpu_s = 0.0
        if case.local:
            self.b = _Namespace(self.a) if case.kind == "veth" else self.a

    def dev(self, guest, netdev="eth0"):
        if isinstance(self.b, _Namespace):
            return "nsb" if guest is self.b else "nsa"
        return super().dev(guest, netdev)

    def _cpu_ticks(self):
        total = 0
        for process in self._processes:
            with open("/proc/%d/stat" % process.pid, "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
            total += int(fields[11]) + int(fields[12])  # utime, stime
        return total

    def run(self, guest, what, timeout=30, **how):
        before = self._cpu_ticks()
        result = super().run(guest, what, timeout, **how)
        self.cpu_s = (self._cpu_ticks() - before) / os.sysconf("SC_CLK_TCK")
        return result


def _options(case, subject, amount):
    return "-s %d -n %d%s%s" % (case.size, amount, " -R" if subject in BY_CM else "",
                                " " + case.options if case.options else "")


def bandwidth(t, case, subject, amount):
    """MiB/s of all QPs."""
    value, _ = speed.perftest_run(t, case.tool, _options(case, subject, amount), 3,
                                  timeout=_LIMIT_S)
    return Result([("", value, "MiB/s")], amount * case.qps, value * MIB / case.size, t.cpu_s,
                  "KiB", case.size / 1024)


def veth(t, case, subject, amount):
    """The same between two network namespaces of guest a, across a pair of veth interfaces."""
    try:
        t.run(t.a, netns.UP + netns.links(subject), check=True)
        t.a.wait_until(netns.links_up(subject), timeout=15)
        return bandwidth(t, case, subject, amount)
    finally:
        # Not t.run(): the test's time may be over.
        t.a.run(netns.DOWN, timeout=20)
        t.a.wait_until(netns.LINKS_GONE, timeout=15)


def rate(t, case, subject, amount):
    """Messages a second of all QPs."""
    value, _ = speed.perftest_run(t, case.tool, _options(case, subject, amount), 4,
                                  timeout=_LIMIT_S)
    return Result([("", value * 1e6, "msg/s")], amount * case.qps, value * 1e6, t.cpu_s)


def latency(t, case, subject, amount):
    """The median of half round trips, and percentiles of all of them."""
    value, out = speed.perftest_run(t, case.tool, _options(case, subject, amount) + " -H", 4)
    samples = sorted(float(x) for x in re.findall(r"(?m)^\d+, ([\d.e+]+)$", out))
    values = [("", value, "us")]
    if len(samples) >= 100:
        values += [(":p%g" % p, samples[math.ceil(p / 100 * len(samples)) - 1], "us")
                   for p in PERCENTILES]
    return Result(values, amount, 1e6 / (2 * value), t.cpu_s, "round trip")


def tcp(t, case, _, amount):
    """MiB/s of one stream, at its receiver."""
    value, received = speed.tcp_run(t, "-n %d" % (amount * case.size), _LIMIT_S)
    return Result([("", value, "MiB/s")], received / case.size, value * MIB / case.size, t.cpu_s,
                  "KiB", case.size / 1024)


def udp(t, case, _, seconds):
    """The median of half round trips of UDP."""
    server = t.start(t.b, "exec sockperf sr %s -i %s" % (case.options, t.b.address), _LIMIT_S)
    try:
        t.b.wait_until("grep -q ':2B67 ' /proc/net/udp", timeout=15)
        done = t.run(t.a, "sockperf pp %s -m 14 -t %d -i %s" % (case.options, seconds,
                                                                t.b.address), _LIMIT_S)
    finally:
        server.kill(9)
    server.wait()
    found = dict(re.findall(r"percentile ([\d.]+) = +([\d.]+)", done.out))
    counted = re.search(r"Valid Duration\].*ReceivedMessages=(\d+)", done.out)
    if "50.000" not in found or not counted:
        raise RuntimeError("sockperf printed no result:\n%s%s" % (done.out[-500:], done.err[-500:]))
    value = float(found["50.000"])
    values = [("", value, "us")] + [(":p%g" % p, float(found["%.3f" % p]), "us")
                                    for p in PERCENTILES if "%.3f" % p in found]
    return Result(values, int(counted.group(1)), 1e6 / (2 * value), t.cpu_s, "round trip")


def memcpy(t, case, _, seconds):
    """MiB/s of memcpy() in guest a."""
    done = t.run(t.a, "/tern/vmemcpy -s %d -S %d" % (case.size, seconds), _LIMIT_S)
    found = re.search(r"copies (\d+) MiB/s ([\d.]+)", done.out)
    if not found:
        raise RuntimeError("vmemcpy: exit %d: %s" % (done.rc, done.out + done.err))
    value = float(found.group(2))
    return Result([("", value, "MiB/s")], int(found.group(1)), value * MIB / case.size, t.cpu_s,
                  "KiB", case.size / 1024)


def fair(t, case, _, seconds):
    """The 99th percentile of half round trips on one QP while another is fully loaded."""
    server, client = t.tool_start("vfair", "-m %s -S %d -N 4" % (case.options, seconds), _LIMIT_S)
    done = client.wait()
    t.finish(server)
    found = re.search(r"round-trips (\d+) (p50 .*) us, bulk ([\d.]+)", done.out)
    if not found:
        raise RuntimeError("vfair: exit %d: %s" % (done.rc, done.out + done.err))
    of = dict(re.findall(r"p([\d.]+) ([\d.]+)", found.group(2)))
    values = [("", float(of["99"]), "us")] + [(":p" + p, float(us), "us") for p, us in of.items()]
    values.append((":bulk", float(found.group(3)), "MiB/s"))
    # The time of the QEMU processes cannot be split between bulk and short messages.
    return Result(values, int(found.group(1)), 1, float("nan"))


def calls(t, case, subject, amount):
    """System calls of the client per message. Later runs subtract those of the first, short one."""
    trace = "strace -f -c -o %s " % _COUNTED
    value, _ = speed.perftest_run(t, case.tool, _options(case, subject, amount), 4, prefix=trace)
    counts = {}
    for line in t.a.run("cat " + _COUNTED, timeout=20, check=True).out.splitlines():
        found = re.match(r" *[\d.]+ +[\d.]+ +\d+ +(\d+)(?: +\d+)? +(\w+)$", line)
        if found and found.group(2) != "total":
            counts[found.group(2)] = int(found.group(1))
    if not counts:
        raise RuntimeError("strace counted nothing")
    post = counts.get("ioctl", 0) + counts.get("write", 0)
    return Result([("", post, "calls"), (":all", sum(counts.values()), "calls")],
                  amount * case.qps, value * 1e6, float("nan"))
