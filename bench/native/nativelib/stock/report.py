# SPDX-License-Identifier: GPL-2.0
"""Markdown tables of the samples (median, least, most), and the guest's counters."""

import csv
import os
import re
import statistics

from .cases import BY_NAME, CASES, PATHS, SUBJECTS, Point

_PATH_TITLE = {"veth": "two namespaces, across a veth pair", "host": "the same host"}


def number(value):
    """Three significant digits, no exponent."""
    if value >= 100:
        return "{:,.0f}".format(float("%.3g" % value))
    return "%.3g" % value


def cell(samples, point, failed):
    """The median of a point, with the least and the most."""
    found = samples.values(point)
    if not found:
        return "no figure" if point in failed else ""
    text = number(statistics.median(found))
    if len(found) > 1:
        text += " (%s..%s)" % (number(min(found)), number(max(found)))
    return text + " †" * (point in failed)


def rows(head, lines):
    """A table in Markdown."""
    yield "| %s |" % " | ".join(head)
    yield "|" + "---|" * len(head)
    for row in lines:
        yield "| %s |" % " | ".join(row)
    yield ""


def facts(samples):
    """What it was measured on, in one line."""
    known = samples.facts
    return ("Linux %s as User Mode Linux, %s CPUs on %s of the host (%s), MTU %s, %s; %s rounds, "
            "each figure from %s s. Medians (least..most)." % tuple(
                known.get(name, "?") for name in (
                    "kernel", "guest CPUs", "host CPUs", "CPU", "veth_mtu", "date", "rounds",
                    "seconds")))


def kernel_pairs(path):
    """{case: MB/s of TCP, of iWARP without CRCs, and with}, of pairs in the kernel (native.csv)."""
    cycles, khz = {}, []
    if not os.path.exists(path):
        return {}
    with open(path, encoding="ascii", newline="") as f:
        for row in csv.DictReader(f):
            if row["metric"] == "khz":
                khz.append(float(row["value"]))
            if row["metric"] == "p50":
                cycles.setdefault((row["driver"], row["case"]), []).append(float(row["value"]))
    found = {}
    for case, operation in (("write-64K", "write_64K"), ("write-1M", "write_1M"),
                            ("read-64K", "read_64K")):
        keys = (("tcp", "stream-nocrc." + operation), ("tern", "stream-nocrc." + operation),
                ("tern", "stream." + operation))
        if khz and all(key in cycles for key in keys):
            found[case] = [BY_NAME[case].size / 1e6 /
                           (statistics.median(cycles[key]) / statistics.median(khz) / 1e3)
                           for key in keys]
    return found


def _main_table(samples, path, failed):
    names = [name for name in SUBJECTS
             if any(point.subject == name and point.path == path for point in samples.points())]
    lines = []
    for case in CASES:
        cells = [cell(samples, Point(name, path, case.name, 1), failed) for name in names]
        if any(cells):
            lines.append(["%s, %s" % (case.title, case.unit)] + cells)
    if lines:
        yield from rows([_PATH_TITLE[path]] +
                        ["TCP (iperf3)" if name == "tcp" else name for name in names], lines)


def _scaling_table(samples, failed):
    pairs = sorted({point.pairs for point in samples.points()})
    if pairs in ([], [1]):
        return
    table = []
    lines = dict.fromkeys((point.path, point.subject, point.case) for point in samples.points()
                          if point.pairs > 1)
    for path, subject, name in sorted(lines, key=lambda line: (
            PATHS.index(line[0]), list(SUBJECTS).index(line[1]), list(BY_NAME).index(line[2]))):
        case = BY_NAME[name]
        points = [Point(subject, path, name, n) for n in pairs]
        cells = [cell(samples, point, failed) for point in points]
        first, last = samples.median(points[0]), samples.median(points[-1])
        table.append(["%s, %s, %s, %s" % (subject, path, case.title, case.unit)] + cells +
                    ["%.2f" % (last / first) if first and last else ""])
    yield "Pairs of programs at once, sums:\n"
    yield from rows(["pairs"] + [str(n) for n in pairs] + ["last to first"], table)


def markdown(samples, native_csv):
    """All tables, in Markdown, as lines."""
    failed = {point for point, _, _ in samples.failures()}
    yield facts(samples) + "\n"
    for path in PATHS:
        yield from _main_table(samples, path, failed)
    pairs = kernel_pairs(native_csv)
    if pairs:
        yield ("In the kernel, where nothing calls the system or wakes anybody up (the part "
               "kernel: Linux 6.1, one CPU for both ends, over veth):\n")
        yield from rows(["MB/s", "TCP", "tern_iwarp without CRCs", "with"],
                        [[BY_NAME[name].title] + [number(value) for value in values]
                         for name, values in pairs.items()])
    yield from _scaling_table(samples, failed)
    for point, count, why in samples.failures():
        yield "* † %s, %s, %s, %d at once: no figure in %d of the rounds: %s" % (
            point.subject, point.path, BY_NAME[point.case].title, point.pairs, count, why)


# ---- what the CPUs did ----

def _shares(samples, point):
    """Percent of user, system, softirq and idle time of each CPU of the guest."""
    names = samples.metrics(point)
    for cpu in sorted({name.split(".")[0] for name in names if re.match(r"cpu\d+\.", name)},
                      key=lambda name: int(name[3:])):
        ticks = {kind: samples.total(point, "%s.%s" % (cpu, kind)) for kind in
                 ("user", "nice", "system", "irq", "softirq", "idle", "iowait")}
        total = sum(ticks.values())
        if total:
            yield "%s %s" % (cpu, "/".join("%.0f" % (100 * value / total) for value in (
                ticks["user"] + ticks["nice"], ticks["system"] + ticks["irq"], ticks["softirq"],
                ticks["idle"] + ticks["iowait"])))


def counters(samples):
    """Lines: the guest's counters of each point. CPU times as user/system/softirq/idle."""
    yield ("Percent of each CPU's time as user/system/softirq/idle; NET_RX and NET_TX a CPU, and "
           "the devices' counters (l: client's, r: server's), for 1000 operations:")
    for point in samples.points():
        # Counters are of the longer run, with a tenth more operations than were timed.
        operations = samples.total(point, "operations") / 0.9
        if not operations:
            continue
        counted = []
        for name in samples.metrics(point):
            if re.match(r"cpu\d+\.NET_|[lr]\.", name) and not name.endswith("_bytes"):
                each = samples.total(point, name) / operations * 1000
                if each >= 0.01:
                    counted.append("%s %.3g" % (name, each))
        yield "%-11s %-4s %-9s x%d  %s; %s" % (point.subject, point.path, point.case, point.pairs,
                                               ", ".join(_shares(samples, point)),
                                               ", ".join(counted))
