#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What is inside an engine stays in kernel/proto/: no other file of the module touches a member of
the structs in ENGINES. They go by the functions that the engine's header declares.

A name counts as an engine's where a declaration outside proto/ says so: a member of that name in
all files, a parameter or variable in its file.
"""

import re
import sys

from sources import Tree, report, strip

ENGINES = ("rc_req", "rc_resp", "ack_hold", "rc_window", "iw_req", "iw_resp", "iw_ack")
PROTO = "kernel/proto/"
# name.member, name->member, a.name.member; no call of what a member points to.
USE = re.compile(r"(->|\.)?\s*\b(\w+)(?:\[[^\]]*\])?(?=\s*(?:->|\.)\s*(\w+)\b(?!\s*\())")


def _declared(text):
    """{name: {engines}} of what a text declares."""
    names = {}
    for engine, several in re.findall(r"\bstruct (%s)\s+([^;(){}]*)" % "|".join(ENGINES), text):
        # A parameter ends at the comma in front of the next one's type.
        for part in several.split(",")[:1] if re.search(r",\s*(?:const\s+)?\w+\s+\W*\w", several) \
                else several.split(","):
            found = re.match(r"\s*\**\s*(?:const\s+)?(\w+)", part)
            if found:
                names.setdefault(found[1], set()).add(engine)
    return names


def complaints(tree):
    members = {engine: set() for engine in ENGINES}
    for path in tree.paths(PROTO + r".*\.h$"):
        for item in tree.items(path):
            if item.inside in members:
                members[item.inside].add(item.name)
    for engine in ENGINES:
        if not members[engine]:
            yield "struct %s: kernel/proto/ has none; selftests/lint/engines.py lists it" % engine
    outside = {path: strip(tree.texts[path]) for path in tree.kernel()
               if not path.startswith(PROTO)}
    everywhere = {}
    for path, text in outside.items():
        for item in tree.items(path):
            if item.inside and item.kind == "object":
                line = text.split("\n")[item.first - 1]
                for name, engines in _declared(line).items():
                    everywhere.setdefault(name, set()).update(engines)
    for path, text in outside.items():
        here = _declared(text)
        for found in USE.finditer(text):
            chained, name, member = found.groups()
            engines = everywhere.get(name, set()) | (set() if chained else here.get(name, set()))
            of = [engine for engine in sorted(engines) if member in members[engine]]
            if of:
                yield "%s:%d: %s of struct %s" % (path, text.count("\n", 0, found.start(2)) + 1,
                                                  member, " or ".join(of))


def main():
    return report("engines", complaints(Tree.of("kernel/**/*.[ch]")), "members used outside proto/")


if __name__ == "__main__":
    sys.exit(main())
