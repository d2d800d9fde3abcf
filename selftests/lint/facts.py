#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the pages say of limits and counters is what the code says; names.py does the rest.

limits    tables under a heading "Limits": LIMITS has the code's name for each row. A table may have a
          column for each of tern's transports, beside others
opcodes   the table under "Send opcodes" has, for tern, the types of QP that the provider knows
numbers   a constant beside a number, anywhere: "4096 packets (`ROCE_RX_BACKLOG_MAX`)",
          "`NAME` (0x1000)"
counters  the man page has exactly those of stats.h; of the other pages' tables no name is wrong,
          and together they have all
"""

import re
import sys

import names
from sources import Tree, report, strip

MAN = "Documentation/tern.7"
RULES = "provider/wqe.h"
# The constants of these are ours: one that is nowhere was renamed.
PREFIX = r"(?:TERN|ROCE|RC|IW|MPA|DDP|RDMAP|ACK_HOLD|RC_REQ)_"

# Rows of the tables, in lower case: members of struct tern_limits, or constants.
LIMITS = {
    "address handles": "max_ah",
    "completions for an event": "TERN_CQ_MAX_COUNT",
    "completions, and time, until a moderated event": "TERN_CQ_MAX_COUNT TERN_CQ_MAX_PERIOD_US",
    "cqes in a completion queue": "max_cqe",
    "cqes in a cq": "max_cqe",
    "cqs": "max_cq",
    "device memory, of all programs": "TERN_MAX_DM_BYTES",
    "gids": "gid_tbl_len",
    "gids; p_keys": "gid_tbl_len pkey_tbl_len",
    "inline bytes": "TERN_MAX_INLINE",
    "inline data": "TERN_MAX_INLINE",
    "memory regions, memory windows": "max_mr max_mw",
    "memory windows": "max_mw",
    "message": "max_msg_bytes",
    "mrs": "max_mr",
    "multicast groups": "max_mcast_grp",
    "multicast groups; qps in one": "max_mcast_grp max_mcast_qp_attach",
    "p_keys": "pkey_tbl_len",
    "pages of a fast registration": "TERN_MAX_FAST_REG_PAGES",
    "pds": "max_pd",
    "protection and xrc domains, shared receive queues": "max_pd max_xrcd max_srq",
    "qps": "max_qp",
    "qps in a group": "max_mcast_qp_attach",
    "queue pairs, completion queues": "max_qp max_cq",
    "reads and atomics under way, per qp": "max_rd_atomic",
    "reads and atomics in flight, per qp": "max_rd_atomic",
    "region": "",               # by the type that has its length
    "sges of a read": "TERN_MAX_SGE",
    "sges of a wqe": "TERN_MAX_SGE",
    "sges of an srq's wqe": "TERN_MAX_SGE",
    "srqs": "max_srq",
    "time until an event": "TERN_CQ_MAX_PERIOD_US",
    "wqes in a send or receive queue": "max_qp_wr",
    "wqes in an srq": "max_srq_wr",
    "xrc domains": "max_xrcd",
}
# Headings of columns, and the folders of the transports that they are about.
COLUMNS = {"tern RoCE": "roce", "tern iWARP": "iwarp"}
SCALES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
TIMES_NS = {"ns": 1, "µs": 10**3, "us": 10**3, "ms": 10**6, "s": 10**9}
NUMBER = re.compile(r"0x[0-9a-f]+|\d+\^\d+(?: - 1)?|\d[\d,]*(?:\.\d+)?")
BESIDE = re.compile(
    r"(?P<a>%s)(?: (?P<unit>[KMG]iB|ns|µs|us|ms|s)\b)?"
    r"(?:[ \n]+[\w-]+){0,5}[ \n]+\(`(?P<name>%s\w+)`\)"
    r"|`(?P<name2>%s\w+)`[ \n]\((?P<b>%s)\)" % (NUMBER.pattern, PREFIX, PREFIX, NUMBER.pattern))
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:\\\n|[^\n])+)", re.M)
ENUMERATOR = re.compile(r"\b([A-Z][A-Z0-9_]{3,})\s*=\s*([^,}]+)[,}]")
TABLE = re.compile(r"\bstruct tern_limits \w+ = \{(.*?)\n\};", re.S)


def _value(text):
    """A number as pages write it."""
    text = text.replace(",", "")
    if "^" in text:
        base, _, rest = text.partition("^")
        return int(base) ** int(rest.split()[0]) - text.endswith(" - 1")
    return float(text) if "." in text else int(text, 0)


class Code:
    """The constants of the sources, by name, and each transport's limits."""

    def __init__(self, tree):
        self._texts = {}
        self.limits = {}
        for path in tree.paths(r"(kernel|uapi)/"):
            text = strip(tree.texts[path])
            for name, value in DEFINE.findall(text) + ENUMERATOR.findall(text):
                self._texts.setdefault(name, value)
            for table in TABLE.findall(text):
                self.limits[path] = dict(re.findall(r"\.(\w+)\s*=\s*([^,]+)", table))

    def __contains__(self, name):
        return name in self._texts

    def evaluate(self, text, depth=0):
        """The value of an expression of constants, or None."""
        if depth > 8:
            return None
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        for name in set(re.findall(r"\b[A-Za-z_]\w*\b", text)) - {"x"}:
            value = {"NSEC_PER_SEC": 10**9, "NSEC_PER_MSEC": 10**6, "NSEC_PER_USEC": 1000}.get(name)
            if value is None and name in self._texts:
                value = self.evaluate(self._texts[name], depth + 1)
            if value is None:
                return None
            text = re.sub(r"\b%s\b" % name, str(value), text)
        if not re.fullmatch(r"[0-9a-fA-FxX\s()+*/<>|&~-]+", text) or "**" in text:
            return None
        try:
            return eval(text.replace("/", "//"), {"__builtins__": {}})  # pylint: disable=eval-used
        except (SyntaxError, TypeError, ZeroDivisionError):
            return None

    def limit(self, name, transport):
        """The value of a limit: a constant's, or that of a transport, which is 0 if it has none."""
        if name.isupper():
            return self.evaluate(name)
        tables = [table for path, table in self.limits.items() if "/%s/" % transport in path]
        return self.evaluate(tables[0].get(name, "0")) if tables else None


# ---- what the pages say ----

def _tables(text, heading):
    """The tables under a heading, each a list of rows, each a list of cells."""
    for section in re.findall(r"^#+ %s\n(.*?)(?=^#|\Z)" % heading, text, re.M | re.S):
        for table in re.findall(r"(?:^\|.+\|\n?)+", section, re.M):
            yield [[cell.strip() for cell in row.strip("|").split("|")]
                   for row in table.splitlines()]


def _columns(table):
    """[(column, transport)] of a table with headings."""
    return [(at, COLUMNS[name]) for at, name in enumerate(table[0]) if name in COLUMNS]


def _rows(path, text):
    """(label, transport, value) of each row of a page's tables of limits."""
    if path == MAN:
        section = re.search(r"^\.Sh LIMITS\n(.*?)^\.El", text, re.M | re.S)
        for label, value in re.findall(r"^\.It (.*?) Ta (.*)$", section[1] if section else "", re.M):
            yield label, "roce", value
    for table in _tables(text, "Limits"):
        columns = _columns(table)
        for cells in table[2:] if columns else ():
            yield from ((cells[0], transport, cells[at]) for at, transport in columns)
        for cells in table if not columns else ():
            yield from ((label, "roce", value) for label, value in zip(cells[::2], cells[1::2]))


def limits(tree, code):
    seen = 0
    for path in tree.paths(r"Documentation/"):
        for label, transport, value in _rows(path, tree.texts[path]):
            said = [0] if value == "none" else [_value(text) for text in NUMBER.findall(value)]
            if not said:
                continue
            wanted = LIMITS.get(label.lower())
            if wanted is None:
                yield "%s: '%s': selftests/lint/facts.py does not know this limit" % (path, label)
                continue
            for at, name in enumerate(wanted.split()):
                seen += 1
                is_, says = code.limit(name, transport), said[min(at, len(said) - 1)]
                if is_ != says:
                    yield "%s: '%s' is %s there, and %s is %s" % (path, label, says, name, is_)
    if not seen:
        yield "no table of limits was found"


RULE = re.compile(r"/\* (\w+) \*/ \{([^,{}]*), SendBody")
TYPES = {"kRc": "RC", "kUc": "UC", "kUd": "UD", "kXrc": "XRC"}


def _send_types(tree):
    """{opcode: {transport: types of QP}} of kSendRules."""
    found = {}
    for name, bits in RULE.findall(tree.texts.get(RULES, "")):
        bits = re.findall(r"k\w+", bits)
        found[name] = {"roce": {TYPES[bit] for bit in bits if bit in TYPES},
                       "iwarp": {"RC"} if "kIwarp" in bits else set()}
    return found


def _told_types(text, known):
    """(opcode, transport, types of QP) of each cell about tern in a page's tables of opcodes."""
    for table in _tables(text, "Send opcodes"):
        for cells in table:
            for name in set(re.findall(r"`(\w+)`", cells[0])) & set(known):
                yield from ((name, transport, set(re.findall(r"\b(?:RC|UC|UD|XRC)\b", cells[at])))
                            for at, transport in _columns(table))


def opcodes(tree):
    known = _send_types(tree)
    for path in tree.paths(r"Documentation/"):
        told = list(_told_types(tree.texts[path], known))
        for name, transport, says in told:
            if says != known[name][transport]:
                yield "%s: %s, %s: for %s there, and for %s in %s" % (
                    path, name, transport, " ".join(sorted(says)) or "none",
                    " ".join(sorted(known[name][transport])) or "none", RULES)
        missing = {name for name in known if any(known[name].values())} - {cell[0] for cell in told}
        for name in sorted(missing) if told else ():
            yield "%s: the opcode %s is missing" % (path, name)


def numbers(tree, code):
    for path in tree.paths(r"(Documentation/|README)"):
        for found in BESIDE.finditer(tree.texts[path]):
            name = found["name"] or found["name2"]
            says, is_ = _value(found["a"] or found["b"]), code.evaluate(name)
            unit = found["unit"]
            if unit in TIMES_NS:
                scale = 1 if name.endswith("_" + unit.upper()) else TIMES_NS[unit]
                says = says * (scale if name.endswith("_NS") else 1)
            says *= SCALES.get(unit, 1)
            if name not in code:
                yield "%s: %s: there is no such constant" % (path, name)
            elif is_ != says:
                yield "%s: %s is %s there, and %s in the code" % (path, name, says, is_)


COUNTER = re.compile(r'\bX\(\w+,\s*"(\w+)"\)')


def counters(tree):
    there = {name for path in tree.paths(r"kernel/core/stats\.h$") for name in COUNTER.findall(tree.texts[path])}
    if not there:
        yield "no table of counters was found"
    man = re.search(r"^\.Sh COUNTERS\n(.*?)^\.Sh", tree.texts.get(MAN, ""), re.M | re.S)
    told = {name for line in re.findall(r"^\.(?:It )?Va (.*)$", man[1] if man else "", re.M)
            for name in re.findall(r"\w{2,}", line)}
    for name in sorted(there - told):
        yield "%s: the counter %s is missing" % (MAN, name)
    for name in sorted(told - there):
        yield "%s: there is no counter %s" % (MAN, name)
    everywhere = set()
    for path in tree.paths(r"(Documentation/.*|README)\.md"):
        everywhere.update(re.findall(r"`(\w+)`", tree.texts[path]))
        for section in re.findall(r"^#+ Counters\n(.*?)(?=^#|\Z)", tree.texts[path], re.M | re.S):
            for cell in re.findall(r"^\|([^|]*)\|", section, re.M):
                for name in sorted(set(re.findall(r"`(\w+)`", cell)) - there):
                    yield "%s: there is no counter %s" % (path, name)
    for name in sorted(there - everywhere):
        yield "no page of Documentation/*.md tells of the counter %s" % name


def complaints(tree):
    code = Code(tree)
    yield from limits(tree, code)
    yield from opcodes(tree)
    yield from numbers(tree, code)
    yield from counters(tree)


def main():
    tree = Tree.of("kernel/**/*.[ch]", "uapi/*.h", RULES, "Documentation/**/*.md",
                   "Documentation/*.7", "*.md")
    return report("facts", [*complaints(tree), *names.complaints(names.everything())],
                  "statements of the pages that the code does not bear out")


if __name__ == "__main__":
    sys.exit(main())
