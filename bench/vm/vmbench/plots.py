# SPDX-License-Identifier: GPL-2.0
"""Plots of a run's samples, as SVG: medians as lines, in a band that has all samples."""

import io
import os

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from .cases import CURVE, LINKS, NO_CRC, QPS, RDMA, RXE_612, size_name
from .goals import verdicts
from .kinds import PERCENTILES
from .store import Point

matplotlib.use("Agg")

_COLOURS = {"tern_roce": "#0b6e4f", "tern_iwarp": "#3aa17e", "iwarp-nocrc": "#8fd0b5", "rxe": "#c8553d", "siw": "#f28f3b",
            "tcp": "#44546a", "udp": "#44546a", "udp-spin": "#8497b0", "memcpy": "#7f7f7f",
            RXE_612: "#8c2f1b"}
# Scores beyond are drawn at the edge: one far value would compress all others.
_FARTHEST = (0.05, 20)
_MARKS = {"tern_roce": "o", "tern_iwarp": "s", "rxe": "^", "siw": "v"}
_STYLE = {
    "figure.figsize": (7.2, 4.3), "figure.constrained_layout.use": True, "font.size": 9.5,
    "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.8,
    "lines.markersize": 4.5, "legend.frameon": False, "axes.titlesize": 11,
    "axes.titlelocation": "left", "svg.fonttype": "none", "svg.hashsalt": "tern",
}


def _plain(value, _=None):
    """12000: 12k; 0.5: 0.5."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return "%g%s" % (round(value / unit, 3), letter)
    return "%g" % round(value, 3)


def _log_y(axes):
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    low, high = axes.get_ylim()
    # Less than two decades have too few powers of ten to read values from.
    if high / low < 100:
        ticks = [m * 10.0 ** e for e in range(-4, 10) for m in (1, 2, 5)]
        axes.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _steps_x(axes, steps, labels):
    """A logarithmic axis with a tick at each measured value."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(steps))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels(labels)


def _line(axes, samples, subject, points, scale=None, label=None):
    """points: (x, Point). False if there are none."""
    found = [(x, p) for x, p in points if samples.of(p)]
    if not found:
        return False
    scale = scale or (lambda x: 1)
    xs = [x for x, _ in found]
    colour = _COLOURS[label or subject]
    axes.plot(xs, [samples.median(p) * scale(x) for x, p in found], color=colour,
              marker=_MARKS.get(subject, "."), label=label or subject,
              linestyle="-" if subject in RDMA else "--")
    axes.fill_between(xs, *zip(*([edge * scale(x) for edge in samples.spread(p)]
                                 for x, p in found)), color=colour, alpha=0.15, linewidth=0)
    return True


def _finish(figure, path):
    handles = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if handles:  # below the data
        figure.legend(handles.values(), handles.keys(), loc="upper center", ncol=len(handles),
                      bbox_to_anchor=(0.5, 0))
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    # Matplotlib leaves trailing blanks, which the repository does not allow.
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(line.rstrip() + "\n" for line in text.getvalue().splitlines())


def _curve(samples, link, rate):
    """Throughput, or messages a second, by size of messages."""
    figure, axes = plt.subplots()
    any_line = False
    for subject in RDMA:
        points = [(size, Point(link, 1500, 1, subject, "curve-" + size_name(size)))
                  for size in CURVE]
        any_line |= _line(axes, samples, subject, points,
                          (lambda size: (1 << 20) / size) if rate else None)
    tcp = Point(link, 1500, 1, "tcp", "tcp")
    if any_line and samples.of(tcp) and not rate:
        axes.axhline(samples.median(tcp), color=_COLOURS["tcp"], linestyle="--", label="TCP stream")
    _steps_x(axes, CURVE, [size_name(size) for size in CURVE])
    _log_y(axes)
    axes.set_xlabel("message, bytes")
    axes.set_ylabel("messages a second" if rate else "MiB/s")
    axes.set_title("RDMA WRITE, one QP, %s link, MTU 1500: %s" % (
        link, "message rate" if rate else "throughput"))
    return figure if any_line else plt.close(figure)


def _latency(samples, link, case, vcpus, title):
    """Half round trips by percentile."""
    figure, axes = plt.subplots()
    # Equal steps, so that the part beyond 99 % is visible.
    any_line = False
    for subject, of, label in [(s, case, None) for s in RDMA] + [("udp", "udp", "udp"),
                                                                 ("udp", "udp-spin", "udp-spin")]:
        points = [(i, Point(link, 1500, vcpus, subject, "%s:p%g" % (of, p)))
                  for i, p in enumerate(PERCENTILES)]
        any_line |= _line(axes, samples, subject, points, label=label)
    axes.set_xticks(range(len(PERCENTILES)), ["%g" % p for p in PERCENTILES])
    _log_y(axes)
    axes.set_xlabel("percentile of all messages")
    axes.set_ylabel("half a round trip, µs")
    axes.set_title(title)
    return figure if any_line else plt.close(figure)


def _scaling(samples):
    """Figures with many QPs."""
    figure, both = plt.subplots(1, 2, figsize=(9.6, 3.9))
    any_line = False
    for axes, size, unit in zip(both, ("16K", "64"), ("MiB/s", "messages a second")):
        for subject in RDMA:
            any_line |= _line(axes, samples, subject, [
                (n, Point("plain", 1500, 1, subject, "qps-%s-%d" % (size, n))) for n in QPS])
        _steps_x(axes, QPS, [str(n) for n in QPS])
        _log_y(axes)
        axes.set_xlabel("QPs")
        axes.set_ylabel(unit + ", all QPs")
        axes.set_title("WRITE of %s" % ("16 KiB" if size == "16K" else "64 B, 16 a post"))
    return figure if any_line else plt.close(figure)


def _cpu(samples, link):
    """The host's cost of a KiB."""
    cases = ("write-64K", "write-1M", "read-64K", "read-1M", "send-64K", "send-1M", "tcp")
    subjects = RDMA[:2] + (NO_CRC,) + RDMA[2:] + ("tcp",)
    figure, axes = plt.subplots(figsize=(8.4, 4.1))
    labels, at = [], 0.0
    for case in cases:
        first = at
        for subject in subjects:
            point = Point(link, 1500, 1, subject, case)
            value = samples.median(point, "cpu") / 1000
            if value == value:
                least, most = (edge / 1000 for edge in samples.spread(point, "cpu"))
                axes.bar(at, value, color=_COLOURS[subject], width=0.85,
                         label=None if subject in [s for s, _ in labels] else subject,
                         yerr=[[value - least], [most - value]], ecolor="#555555",
                         error_kw={"linewidth": 0.8})
                labels.append((subject, case))
                at += 1
        if at > first:
            axes.text((first + at - 1) / 2, -0.03, case, ha="center", va="top",
                      transform=axes.get_xaxis_transform())
            at += 0.8
    axes.set_xticks([])
    axes.grid(False, axis="x")
    axes.set_ylabel("µs of host CPU a KiB, both guests")
    axes.set_title("Cost of a KiB, %s link, MTU 1500 (less is better)" % link)
    return figure if labels else plt.close(figure)


def _goals(samples, link):
    """The distance of each ratio from its goal."""
    judged = [v for v in verdicts(samples)
              if v.wanted is not None and v.ratio > 0 and v.ours.link == link]
    figure, axes = plt.subplots(figsize=(8.4, 1.2 + 0.2 * len(judged)))
    for i, v in enumerate(reversed(judged)):
        # More is better, for both directions of goals.
        score = v.wanted / v.ratio if v.goal.at_most else v.ratio / v.wanted
        shown = min(max(score, _FARTHEST[0]), _FARTHEST[1])
        colour = _COLOURS["tern_roce" if v.met else "rxe"]
        axes.plot([1, shown], [i, i], color=colour, linewidth=1.2, alpha=0.5, zorder=1)
        axes.plot(shown, i, "o" if shown == score else "<" if score < 1 else ">", color=colour,
                  zorder=2)
    axes.axvline(1, color="#444444", linewidth=1)
    axes.set_yticks(range(len(judged)), [_goal_name(v) for v in reversed(judged)], fontsize=7.5)
    axes.set_xscale("log")
    axes.set_xlim(_FARTHEST[0] * 0.9, _FARTHEST[1] * 1.1)
    axes.xaxis.set_major_locator(FixedLocator([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]))
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(-0.8, len(judged) - 0.2)
    axes.set_xlabel("multiple of what is wanted: met from 1 on (triangles: beyond the edge)")
    axes.set_title("Wanted ratios, %s link" % link)
    return figure if judged else plt.close(figure)


def _goal_name(v):
    """As in the table, in one line."""
    iwarp = v.ours.subject == "tern_iwarp" and "iWARP" not in v.goal.title
    by = "" if v.theirs.subject == v.ours.subject else ", by " + v.theirs.subject
    return "%s%s%s, %d" % ("iWARP " if iwarp else "", v.goal.title, by, v.ours.mtu)


def draw(samples, folder):
    """Draw all plots that have samples. Returns [(file, what it shows)]."""
    drawn = []

    def keep(name, words, figure):
        if figure:
            _finish(figure, os.path.join(folder, name))
            drawn.append((name, words))

    with plt.rc_context(_STYLE):
        for link in LINKS:
            keep("goals-%s.svg" % link, "Wanted ratios, %s link" % link, _goals(samples, link))
            keep("throughput-%s.svg" % link, "Throughput by size, %s link" % link,
                 _curve(samples, link, False))
            keep("rate-%s.svg" % link, "Message rate by size, %s link" % link,
                 _curve(samples, link, True))
            keep("latency-%s.svg" % link, "Latency, %s link" % link, _latency(
                samples, link, "lat-2", 1, "WRITE of 2 B (UDP: 14 B), %s link" % link))
            keep("cpu-%s.svg" % link, "Host CPU, %s link" % link, _cpu(samples, link))
        keep("latency-local.svg", "Latency within one host", _latency(
            samples, "plain", "local-lat-2", 2, "WRITE of 2 B, both programs in one guest"))
        keep("qps.svg", "Many QPs", _scaling(samples))
    return drawn
