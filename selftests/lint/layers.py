#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The edges between the module's parts, proven from its #include lines.

A part is a folder below kernel/, or a file directly in kernel/ with its header. EDGES lists for
each part the parts that it includes: no more and no less, and without a cycle. deps.h alone of
proto/ sees the kernel; verbs/ sees no packet; only compat/ knows kernel versions. uapi/ is for all.

layers.py --edges prints the table that the sources ask for.
"""

import re
import sys

from sources import COMMENT, Tree, cycles, part_of, report

EDGES = """
iwarp: core iwarp/cm iwarp/stream
main: core crc link mem
roce: core roce/qp roce/wire
iwarp/cm: charged core iwarp/stream proto
link: core verbs
roce/qp: charged core mem proto queue roce/wire uncleared wr
iwarp/stream: charged core crc mem proto queue wr
roce/wire: charged core crc mem proto uncleared
verbs: area charged core mem proto queue
crc: best_ns proto
wr: core mem proto queue
core: charged mem queue
mem: area best_ns charged proto uncleared
queue: area charged proto
area: charged
best_ns:
charged:
proto:
uncleared:
"""

VERSION = re.compile(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION|UTS_RELEASE|TERN_HAS_\w+)\b"
                     r"|<linux/version.h>")
# rdma_restrack hands verbs/ a netlink message; that is no packet.
MESSAGE = re.compile(r"struct sk_buff(?: \*msg\b|;)")


def parse(text):
    """{part: {part that it may include}} of a table such as EDGES."""
    rows = (line.split(":") for line in text.strip().splitlines())
    return {part.strip(): set(targets.split()) for part, targets in rows}


def used(tree):
    """({part: {part}}, complaints about names that are nowhere)"""
    edges, lost = {}, []
    for path in tree.kernel():
        reached = edges.setdefault(part_of(path), set())
        for quoted, _ in tree.includes(path):
            target = tree.find(path, quoted) if quoted else None
            if target and target.startswith("kernel/"):
                reached.add(part_of(target))
            elif quoted and not target:
                lost.append('%s includes "%s", which is nowhere' % (path, quoted))
        reached.discard(part_of(path))
    return edges, lost


def _of_file(tree, path):
    """What is wrong with one file, whatever it includes of the module."""
    part, code = part_of(path), COMMENT.sub("", tree.texts[path])
    for _, angled in tree.includes(path):
        if angled and part == "proto" and path != "kernel/proto/deps.h":
            yield "%s includes <%s>; in proto/ only deps.h may" % (path, angled)
        if angled == "linux/skbuff.h" and part == "verbs":
            yield "%s includes <%s>; verbs/ sees no packets" % (path, angled)
    if part == "verbs" and re.search(r"\bsk_buff\b", MESSAGE.sub("", code)):
        yield "%s mentions sk_buff; verbs/ sees no packets" % path
    if VERSION.search(code):
        yield "%s depends on the kernel's version; only compat/ may" % path


def complaints(tree, allowed):
    for path in tree.kernel():
        yield from _of_file(tree, path)
    edges, lost = used(tree)
    yield from lost
    for part in sorted(edges.keys() | allowed.keys()):
        if part not in allowed:
            yield "%s: a part that selftests/lint/layers.py does not know" % part
        elif part not in edges:
            yield "%s: selftests/lint/layers.py has a part that is not there" % part
        for target in sorted(edges.get(part, set()) - allowed.get(part, set())):
            yield "%s includes %s, which it must not know" % (part, target)
        for target in sorted(allowed.get(part, set()) - edges.get(part, set())):
            yield "%s may include %s, and does not: take the edge away" % (part, target)
    for loop in cycles(edges):
        yield "parts that include one another: " + " ".join(loop)


def main():
    tree = Tree.of("kernel/**/*.[ch]", "uapi/*.h")
    if sys.argv[1:] == ["--edges"]:
        edges = used(tree)[0]
        while edges:
            reached = set().union(*edges.values())
            for part in sorted(edges.keys() - reached or edges.keys()):
                print(("%s: %s" % (part, " ".join(sorted(edges.pop(part))))).rstrip())
        return 0
    return report("layers", complaints(tree, parse(EDGES)), "edges or mentions that are wrong")


if __name__ == "__main__":
    sys.exit(main())
