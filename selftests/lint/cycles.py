#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""cycles.py OBJECTS...: no header includes itself by way of others, and of the files of one part no
more than MOST call one another in a circle.

Who calls whom is read from the objects of the first folder OBJECTS that has them: the tree that the
step sparse-W1 leaves, or make module.
"""

import os
import re
import subprocess
import sys

from sources import TOP, Tree, cycles, part_of, report

MOST = 3
SYMBOL = re.compile(r"^ *(?:[0-9a-f]{8,} )?([A-Za-z]) (\w+)$", re.M)


def symbols(text):
    """(names defined, names wanted) of what nm says of an object."""
    found = SYMBOL.findall(text)
    return ({name for kind, name in found if kind in "TDBRVW"},
            {name for kind, name in found if kind in "Uu"})


def includes(tree):
    """{file: {files that it includes}}"""
    return {path: {target for quoted, _ in tree.includes(path)
                   if quoted and (target := tree.find(path, quoted))} for path in tree.kernel()}


def calls(objects):
    """{file: {file: names}} of {file: what nm says}"""
    both = {path: symbols(text) for path, text in objects.items()}
    homes = {name: path for path, (defined, _) in both.items() for name in defined}
    graph = {}
    for path, (_, wanted) in both.items():
        into = graph.setdefault(path, {})
        for name in wanted:
            home = homes.get(name)
            if home and home != path:
                into.setdefault(home, set()).add(name)
    return graph


def _smallest(graph, loop):
    """For each edge of a circle, an example of what is called."""
    for path in loop:
        for target in loop:
            if target in graph.get(path, {}):
                yield "  %s -> %s: %s" % (path, target, ", ".join(sorted(graph[path][target])[:3]))


def complaints(tree, objects):
    for loop in cycles(includes(tree)):
        yield "headers that include one another: " + " ".join(loop)
    graph = calls(objects)
    within = {path: {target for target in targets if part_of(target) == part_of(path)}
              for path, targets in graph.items()}
    for loop in cycles(within):
        if len(loop) > MOST:
            yield "%d files of %s call one another: %s" % (
                len(loop), part_of(loop[0]), " ".join(os.path.basename(path) for path in loop))
            yield from _smallest(graph, loop)


def read(folder, paths):
    """({file: what nm says}, [files without an object that is as new])"""
    objects, missing = {}, []
    for path in paths:
        name = os.path.join(folder, path[:-1] + "o")
        source = os.path.join(TOP, path)
        if not os.path.exists(name) or os.path.getmtime(name) < os.path.getmtime(source):
            missing.append(path)
            continue
        objects[path] = subprocess.run(["nm", name], check=True, capture_output=True,
                                       text=True).stdout
    return objects, missing


def main():
    tree = Tree.of("kernel/**/*.[ch]", "uapi/*.h")
    folder = next((name for name in sys.argv[1:]
                   if os.path.isdir(os.path.join(name, "kernel"))), None)
    objects, missing = read(folder, tree.kernel((".c",))) if folder else ({}, [])
    if missing:
        print("%s, which the step sparse-W1 makes, has none of, or an old one: %s" %
              (folder, " ".join(missing)))
        return 1
    status = report("cycles", complaints(tree, objects), "lines about circles")
    if not folder:
        print("not done: there are no objects to read calls from; the step sparse-W1 makes them")
    return status


if __name__ == "__main__":
    sys.exit(main())
