#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Static functions of the module's .c files have names of more than one word, best a verb and a
noun: the name alone stands in an oops, in perf and in ftrace."""

import sys

from sources import Tree, report


def complaints(tree):
    for path in tree.kernel((".c",)):
        for item in tree.items(path):
            if item.kind == "function" and item.static and "_" not in item.name.strip("_"):
                yield "%s:%d: %s()" % (path, item.first, item.name)


def main():
    tree = Tree.of("kernel/**/*.[ch]")
    return report("statics", complaints(tree), "static functions of one word")


if __name__ == "__main__":
    sys.exit(main())
