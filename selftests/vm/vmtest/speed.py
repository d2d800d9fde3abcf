# SPDX-License-Identifier: GPL-2.0
"""Figures of perftest and iperf3 between the guests, and tables of their medians."""

import json
import statistics


# perftest first compares the CPU's clock with the time, and prints zeros if the result varies too
# much, as on a busy host. Then it is run again.
TRIES = 4


def _read_figure(out, column):
    """The number in that column of the result line, or None."""
    for line in out.splitlines():
        words = line.split()
        if len(words) > column and words[0].isdigit():
            return float(words[column])
    return None


def perftest(t, tool, options, column):
    """Run perftest; returns the figure in that column of its result line."""
    return perftest_run(t, tool, options, column)[0]


def perftest_run(t, tool, options, column, prefix="", timeout=40):
    """The same, and the client's output. prefix: put before the client's command."""
    command = "%s -F %s -d " % (tool, options)
    for _ in range(TRIES):
        there, here = t.pair_run(command + t.dev(t.b),
                                 prefix + command + t.dev(t.a) + " " + t.b.address,
                                 port=18515, timeout=timeout)
        value = _read_figure(here.out, column)
        if value is None:
            break
        if value:
            return value, here.out
    raise RuntimeError("%s printed no result, exit %d, server's %d:\n%s%s%s" % (
        tool, here.rc, there.rc, here.out, here.err, there.err))


def tcp(t, seconds=2):
    """MiB/s of iperf3's single stream from a to b, at its receiver."""
    return tcp_run(t, "-t %d" % seconds, seconds + 30)[0]


def tcp_run(t, options, timeout):
    """The same, and the number of bytes."""
    _, here = t.pair_run("iperf3 -s -1", "iperf3 -J %s -c %s" % (options, t.b.address),
                         port=5201, timeout=timeout)
    if here.rc:
        raise RuntimeError("iperf3: %s%s" % (here.out[-500:], here.err[-500:]))
    received = json.loads(here.out)["end"]["sum_received"]
    return received["bits_per_second"] / 8 / (1 << 20), received["bytes"]


class Figures:
    """The samples of each subject in each row, of all rounds."""

    def __init__(self):
        self._samples = {}

    def add(self, row, subject, value):
        """One sample."""
        self._samples.setdefault((row, subject), []).append(value)

    def median(self, row, subject):
        """The median; NaN without samples."""
        found = self._samples.get((row, subject))
        return statistics.median(found) if found else float("nan")

    def ratio(self, row, subject, to):
        """The ratio of two subjects' medians."""
        there = self.median(row, to)
        return self.median(row, subject) / there if there else float("nan")

    def spread(self, row, subject):
        """The smallest and largest sample, as text."""
        found = self._samples.get((row, subject), [])
        return "%.4g..%.4g" % (min(found), max(found)) if found else "-"
