#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""No function of kernel/ and provider/ is longer than MOST lines, from its name to its end. No line
of C or C++ is wider than COLUMNS, unless it has a string."""

import sys

from sources import Tree, report

MOST = 70
COLUMNS = 100
TAB = 8


def long_functions(tree, path):
    for item in tree.items(path):
        lines = item.last - item.first + 1
        if item.kind == "function" and lines > MOST:
            yield "%s:%d: %s() has %d lines, more than %d" % (
                path, item.first, item.name, lines, MOST)


def wide_lines(tree, path):
    for number, line in enumerate(tree.texts[path].split("\n"), 1):
        columns = len(line.expandtabs(TAB))
        if columns > COLUMNS and '"' not in line:
            yield "%s:%d: it has %d columns, more than %d" % (path, number, columns, COLUMNS)


def complaints(tree):
    for path in tree.paths(r"(kernel|provider)/"):
        yield from long_functions(tree, path)
    for path in sorted(tree.texts):
        yield from wide_lines(tree, path)


def main():
    tree = Tree.of(*("%s/**/*.%s" % (folder, ending)
                     for folder in ("kernel", "uapi", "provider", "selftests")
                     for ending in ("c", "h", "cc", "inc")))
    return report("length", complaints(tree), "functions or lines that are too long")


if __name__ == "__main__":
    sys.exit(main())
