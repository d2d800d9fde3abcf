#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each header of the module has one owner: the .c file beside it with its name, which defines all
that it declares. A header without an owner has types and inline functions only, or is a seam: a
contract by which one part calls another, whatever file of it answers.

And each function and variable of a .c file that is not static is declared in its header, or in a
seam.
"""

import sys

from sources import Tree, report

# Headers whose functions are defined elsewhere, each with the reason in its first lines.
SEAMS = {
    "kernel/core/transport.h",
    "kernel/iwarp/stream/upcalls.h",
    "kernel/roce/wire/upcalls.h",
}


def _defined(tree):
    """{name: the .c file that defines it for others}"""
    return {item.name: path for path in tree.kernel((".c",)) for item in tree.items(path)
            if item.kind in ("function", "object") and not item.static and not item.inside}


def _declared(tree):
    """(header, item) of each function and variable that a header declares."""
    for path in tree.kernel((".h",)):
        for item in tree.items(path):
            if item.kind in ("prototype", "extern") and not item.static and not item.inside:
                yield path, item


def complaints(tree, seams):
    defined = _defined(tree)
    headers = {}
    for header, item in _declared(tree):
        headers.setdefault(item.name, set()).add(header)
        owner = header[:-1] + "c"
        at = "%s:%d: %s" % (header, item.first, item.name)
        if item.name not in defined:
            yield at + " is defined nowhere"
        elif header in seams:
            continue
        elif owner not in tree.texts:
            yield "%s is of %s; the header has no owner and is no seam" % (at, defined[item.name])
        elif defined[item.name] != owner:
            yield "%s is of %s, not of %s" % (at, defined[item.name], owner)
    for name, path in sorted(defined.items()):
        for header in sorted(headers.get(name, {None}), key=str):
            if header is None:
                yield "%s: %s is declared in no header, and not static" % (path, name)
        if len(headers.get(name, ())) > 1:
            yield "%s: %s is declared in %s" % (path, name, " and ".join(sorted(headers[name])))
    for seam in sorted(seams):
        if seam not in tree.texts:
            yield "%s: selftests/lint/owners.py has a seam that is not there" % seam
        elif seam[:-1] + "c" in tree.texts:
            yield "%s: a seam with an owner beside it" % seam
        elif not any(seam in declarers for declarers in headers.values()):
            yield "%s: a seam that declares nothing" % seam


def main():
    tree = Tree.of("kernel/**/*.[ch]")
    return report("owners", complaints(tree, SEAMS), "declarations without their owner")


if __name__ == "__main__":
    sys.exit(main())
