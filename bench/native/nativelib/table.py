# SPDX-License-Identifier: GPL-2.0
"""Turns the lines of a boot into figures, a CSV file, and a table with the goals."""

import csv
import re
import statistics

# After the kernel's "[    1.234] ".
_LINE = re.compile(r"(?:^|\] )bench,([^,\s]+),([^,\s]+),([^,\s]+),(\d+)\s*$")
_ROUND = re.compile(r"^round (\d+)\s*$")

# Goals: the largest share of rxe's or TCP's cycles (by case, for any MTU) ...
_OF_OTHER = {
    "net.write_64": 0.7, "net.write_64_x32": 0.4,
    "net.write_64K": 0.8, "net.read_64K": 0.8,
    "host.write_64": 0.2,
}
# ... the smallest share of memcpy's bandwidth ...
_OF_MEMCPY = {"host.write_64K": 0.6, "host.read_64K": 0.6}
# ... or of another case's.
_OF_CASE = {"stream.write_16K_256qps": ("stream.write_16K", 0.85)}


class Results:
    """Rows (boot, round, driver, case, metric, value) of all boots."""

    def __init__(self):
        self.rows = []

    def add(self, boot, text):
        rnd = 0
        for line in text.splitlines():
            found = _ROUND.match(line)
            if found:
                rnd = int(found.group(1))
                continue
            found = _LINE.search(line)
            if found:
                self.rows.append((boot, rnd) + found.groups()[:3] + (int(found.group(4)),))

    def write_csv(self, path):
        with open(path, "w", encoding="ascii", newline="") as f:
            out = csv.writer(f)
            out.writerow(("boot", "round", "driver", "case", "metric", "value"))
            out.writerows(self.rows)

    def cases(self):
        """Names, in the order in which they were measured."""
        return list(dict.fromkeys(row[3] for row in self.rows if row[4] == "p50"))

    def p50(self, driver, case):
        """{(boot, round): cycles}"""
        return {row[:2]: row[5] for row in self.rows
                if row[2:5] == (driver, case, "p50")}

    def strays(self):
        """Drivers that sent no packets over the wire where they should."""
        return sorted({row[2] for row in self.rows
                       if row[3].endswith((".netdev_a", ".netdev_b"))
                       and not row[3].startswith("host.")
                       and row[4] == "tx_packets" and not row[5]})

    def value(self, metric):
        """Median of a metric over everything."""
        return statistics.median(row[5] for row in self.rows if row[4] == metric)


def _ratios(over, under):
    """The ratios of two drivers' figures of the same turns, sorted."""
    return sorted(over[key] / under[key] for key in over if key in under)


def _quartiles(values):
    if len(values) < 4:
        return values[0], values[-1]
    cut = statistics.quantiles(values, n=4)
    return cut[0], cut[2]


def _wanted(case, of_other, of_memcpy, of_case):
    """(the goal, is it met), or ("", None)."""
    name = re.sub(r"\.\d+\.", ".", case)
    if name in _OF_OTHER and of_other is not None:
        return "<= %.2f" % _OF_OTHER[name], of_other <= _OF_OTHER[name]
    if name in _OF_MEMCPY and of_memcpy is not None:
        return ">= %.2f of memcpy" % _OF_MEMCPY[name], of_memcpy >= _OF_MEMCPY[name]
    if of_case is not None:
        base, least = _OF_CASE[name]
        return "%.2f of %s's speed, >= %.2f" % (of_case, base, least), of_case >= least
    return "", None


def _middle(values):
    return statistics.median(values.values()) if values else None


def _median(values):
    return statistics.median(values) if values else None


def table(results):
    """(lines, how many goals are missed)"""
    lines = ["%-29s %9s %9s %5s %7s %13s %9s  %s" % (
        "case", "tern", "other", "", "ratio", "its middle", "of memcpy", "wanted")]
    missed = 0
    for case in results.cases():
        tern, other, name = results.p50("tern", case), results.p50("rxe", case), "rxe"
        if not other:
            other, name = results.p50("tcp", case), "tcp"
        ratios = _ratios(tern, other)
        speed = _median(_ratios(results.p50("memcpy", case), tern))
        base = _OF_CASE.get(case, ("", 0))[0]
        want, met = _wanted(case, _median(ratios), speed,
                            _median(_ratios(results.p50("tern", base), tern)))
        missed += met is False
        lines.append("%-29s %9s %9s %5s %7s %13s %9s  %s%s" % (
            case, *("%d" % m if m is not None else "-" for m in (_middle(tern), _middle(other))),
            name if other else "",
            "%.2f" % _median(ratios) if ratios else "-",
            "%.2f .. %.2f" % _quartiles(ratios) if ratios else "-",
            "%.2f" % speed if speed is not None else "-",
            want, "" if met is None else ": met" if met else ": NOT met"))
    return lines, missed
