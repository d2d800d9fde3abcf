# SPDX-License-Identifier: GPL-2.0
"""The part loss: networks that lose and reorder packets, in both directions, and their table."""

from dataclasses import dataclass

from .cases import BY_NAME, Point
from .report import cell, facts, number, rows

# Those of 64 KiB.
CASES = ("write-64K", "read-64K", "send-64K")
SUBJECTS = ("tern_roce", "tern_iwarp", "rxe", "tcp")


@dataclass(frozen=True)
class Network:
    """What netem does to the packets of each direction."""
    name: str
    title: str
    netem: str = ""
    of_own: float = 0       # wanted: this share of tern_roce's own without loss,
    of_rxe: float = 0       # this multiple of rxe's,
    of_tcp: float = 0       # and of TCP's


NETWORKS = (
    Network("lossless", "no loss"),
    Network("loss-0.1", "0.1 % lost", "loss 0.1%", of_tcp=1),
    Network("loss-1", "1 % lost", "loss 1%", of_own=0.5, of_rxe=5, of_tcp=1),
    Network("loss-5", "5 % lost", "loss 5%", of_tcp=1),
    # A burst begins at one packet of 400, and each of it is the last with 25 %.
    Network("burst-1", "1 % lost, in bursts of 4", "loss gemodel 0.25% 25%", of_tcp=1),
    Network("reorder-25", "25 % come 1 ms early", "delay 1ms reorder 25%"),
    Network("delay-1ms", "1 ms of delay", "delay 1ms"),
)
NETWORK = {network.name: network for network in NETWORKS}
# Reordering is to be compared with the delay that it comes from.
_REORDERED, _DELAYED, _OF_DELAYED = "reorder-25", "delay-1ms", 0.9


def points(subject):
    """All points of a subject, in the order in which they are measured."""
    if subject not in SUBJECTS:
        return
    for network in NETWORKS:
        for case in CASES:
            if subject != "tcp" or BY_NAME[case].tcp:
                yield Point(subject, network.name, case, 1)


def _ratio(samples, over, under):
    """The median of the rounds' ratios, or None."""
    return (samples.median(over) / samples.median(under)
            if samples.values(over) and samples.values(under) else None)


def _judge(samples, network, case):
    """[(what, ratio, least)] of tern_roce, for each ratio that was measured."""
    own = Point("tern_roce", network.name, case, 1)
    # TCP has one kind of transfer.
    found = [
        ("own", _ratio(samples, own, Point("tern_roce", "lossless", case, 1)), network.of_own),
        ("rxe", _ratio(samples, own, Point("rxe", network.name, case, 1)), network.of_rxe),
        ("TCP", _ratio(samples, own, Point("tcp", network.name, "write-64K", 1)), network.of_tcp),
    ]
    if network.name == _REORDERED:
        delayed = Point("tern_roce", _DELAYED, case, 1)
        found.append(("delayed", _ratio(samples, own, delayed), _OF_DELAYED))
    return [(what, ratio, least) for what, ratio, least in found if ratio is not None]


def _verdict(judged):
    """(text, how many are missed) of what is wanted."""
    texts = ["%s of %s's: %s" % (number(least), what, "met" if ratio >= least else "NOT met")
             for what, ratio, least in judged if least]
    return "; ".join(texts), sum(text.endswith("NOT met") for text in texts)


def _row(samples, network, case, names, failed):
    judged = _judge(samples, network, case)
    ratios = {what: number(ratio) for what, ratio, _ in judged}
    cells = [cell(samples, Point(name, network.name, case, 1), failed) for name in names]
    wanted, missed = _verdict(judged)
    return ([network.title, BY_NAME[case].title] + cells +
            [ratios.get(what, "") for what in ("own", "rxe", "TCP")] + [wanted]), missed


def table(samples):
    """(Markdown as lines, how many goals are missed)"""
    failed = {point for point, _, _ in samples.failures()}
    measured = samples.points()
    names = [name for name in SUBJECTS if any(point.subject == name for point in measured)]
    lines, missed = [], 0
    for network in NETWORKS:
        for case in CASES:
            if any(point.path == network.name and point.case == case for point in measured):
                line, less = _row(samples, network, case, names, failed)
                lines.append(line)
                missed += less
    head = (["the network", "one QP, MB/s"] + ["TCP (iperf3)" if name == "tcp" else name
                                              for name in names] +
            ["tern_roce to its own without loss", "to rxe", "to TCP", "wanted"])
    return [facts(samples) + "\n"] + list(rows(head, lines)) + [
        "* † %s, %s, %s: no figure in %d of the rounds: %s" % (
            point.subject, NETWORK[point.path].title, BY_NAME[point.case].title, count, why)
        for point, count, why in samples.failures()], missed
