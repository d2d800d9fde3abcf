#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""No function of kernel/ and provider/ is longer than MOST lines, from its name to its end."""

import sys

from sources import Tree, report

MOST = 70


def complaints(tree):
    for path in sorted(tree.texts):
        for item in tree.items(path):
            lines = item.last - item.first + 1
            if item.kind == "function" and lines > MOST:
                yield "%s:%d: %s() has %d lines, more than %d" % (
                    path, item.first, item.name, lines, MOST)


def main():
    tree = Tree.of("kernel/**/*.[ch]", "provider/**/*.h", "provider/**/*.cc")
    return report("length", complaints(tree), "functions that are too long")


if __name__ == "__main__":
    sys.exit(main())
