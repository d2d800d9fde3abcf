# SPDX-License-Identifier: GPL-2.0
"""The tables: goals with their ratios, and all figures; as text and as table.csv."""

import csv
import math

from .cases import BY_NAME
from .goals import verdicts

HEADS = ("what", "link", "MTU", "ours", "figure", "least..most", "against", "figure",
         "least..most", "unit", "ratio", "wanted", "")


def number(value):
    """Four digits, with an exponent only if necessary."""
    if math.isnan(value):
        return "-"
    return "%.0f" % value if abs(value) >= 1000 else "%.4g" % value


def spread(samples, point, what="value"):
    """As text."""
    return "..".join(number(x) for x in samples.spread(point, what)) \
        if samples.of(point, what) else "-"


def verdict_word(verdict):
    """met, NOT met, or why there is no verdict."""
    if math.isnan(verdict.ratio):
        return "no figure"
    return {None: "", True: "met", False: "NOT met"}[verdict.met]


def wanted(verdict):
    """As text."""
    if verdict.wanted is None:
        return ""
    return "%s %g" % ("<=" if verdict.goal.at_most else ">=", verdict.wanted)


def _other(verdict):
    """How the other side of a goal differs, in words."""
    ours, theirs = verdict.ours, verdict.theirs
    words = [theirs.subject] if theirs.subject != ours.subject else []
    if theirs.case != ours.case and theirs.case != theirs.subject:
        words.append(theirs.case)
    if theirs.vcpus != ours.vcpus:
        words.append("%d vCPU" % theirs.vcpus)
    return " ".join(words)


def goal_rows(samples):
    """A row of texts for each verdict, in the order of HEADS."""
    for v in verdicts(samples):
        what = v.goal.what
        unit = samples.units.get(v.ours) or samples.units.get(v.theirs) if what == "value" else \
            "ns/" + (samples.pers.get(v.ours) or samples.pers.get(v.theirs) or "")
        yield v, (v.goal.title, v.ours.link, str(v.ours.mtu), v.ours.subject,
                  number(samples.median(v.ours, what)), spread(samples, v.ours, what), _other(v),
                  number(samples.median(v.theirs, what)), spread(samples, v.theirs, what),
                  unit or "", "%.2f" % v.ratio if not math.isnan(v.ratio) else "-", wanted(v),
                  verdict_word(v))


def figure_rows(samples):
    """(point, title, median, spread, unit, host CPU, per) of each figure without a suffix."""
    for point in samples.points():
        if point.case in BY_NAME:
            cpu = samples.median(point, "cpu")
            yield point, (BY_NAME[point.case].title, number(samples.median(point)),
                          spread(samples, point), samples.units[point], number(cpu),
                          samples.pers[point] if not math.isnan(cpu) else "")


def _print(rows, out):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        out("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def show(samples, out=print):
    """Both tables."""
    figures = [(p.link, str(p.mtu), str(p.vcpus), p.subject, p.case) + row[1:]
               for p, row in figure_rows(samples)]
    if figures:
        out("\nAll figures, medians:")
        _print([("link", "MTU", "vCPUs", "subject", "case", "median", "least..most", "unit",
                 "host ns", "a")] + sorted(figures, key=lambda row: (row[0], int(row[1]),
                                                                     int(row[2]))), out)
    found = list(goal_rows(samples))
    if found:
        out("\nWhat is wanted, ratios of medians:")
        _print([HEADS] + [row for _, row in found], out)
    judged = [v for v, _ in found if v.wanted is not None]
    met = sum(v.met is True for v in judged)
    out("\n%d of %d wanted ratios are met" % (met, len(judged)))


def write(samples, path):
    """Write table.csv: both tables, one line per figure or ratio."""
    with open(path, "w", encoding="ascii", newline="") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(("kind", "what", "link", "mtu", "vcpus", "subject", "case", "median",
                        "least", "most", "unit", "host_cpu_ns", "per", "against", "against_case",
                        "their_median", "ratio", "wanted", "verdict"))
        for point, (title, *_) in figure_rows(samples):
            table.writerow(["figure", title] + _figure(samples, point) + [""] * 6)
        for v, _ in goal_rows(samples):
            table.writerow(["goal", v.goal.title] + _figure(samples, v.ours, v.goal.what)
                           + [v.theirs.subject, v.theirs.case,
                              "%.6g" % samples.median(v.theirs, v.goal.what), "%.4g" % v.ratio,
                              wanted(v), verdict_word(v)])


def _figure(samples, point, what="value"):
    unit = samples.units.get(point, "") if what == "value" else "ns/" + samples.pers.get(point, "")
    cpu = samples.median(point, "cpu")
    return list(point[:5]) + ["%.6g" % x for x in (samples.median(point, what),
                                                   *samples.spread(point, what))] \
        + [unit, "" if math.isnan(cpu) else "%.1f" % cpu, samples.pers.get(point, "")]
