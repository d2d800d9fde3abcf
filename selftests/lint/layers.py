#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The arrows between the module's parts, proven from its #include lines.

main -> link -> device -> verbs -> transport.h, objects.h -> roce | iwarp | local
     -> mem, queue, crc -> proto -> proto/deps.h; charged.h is for those that take memory
for programs, uncleared.h for those that hold packets, best_ns.h for those that choose the
quickest way

Each part may include itself and what REACH lists; deps.h alone of proto/ sees the
kernel; verbs/ sees no packet; only compat/ knows kernel versions. uapi/ is for all.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNEL = os.path.join(TOP, "kernel")

TRANSPORTS = ("roce", "iwarp", "local")
BELOW_DOOR = {"objects", "stats", "crc", "mem", "queue", "proto", "charged", "uncleared"}

REACH = {
    "main": {"link", "crc", "mem"},
    "link": {"device", "verbs"} | BELOW_DOOR,
    "device": {"verbs", "transport"} | BELOW_DOOR,
    "verbs": {"transport"} | BELOW_DOOR,
    "transport": {"objects", "stats"},
    "objects": {"stats", "mem", "queue"},
    "stats": set(),
    "mem": {"proto", "charged", "uncleared", "best_ns"},
    "queue": {"proto", "charged"},
    "crc": {"proto", "best_ns"},
    "proto": set(),
    "charged": set(),
    "uncleared": set(),
    "best_ns": set(),
}
REACH.update({name: {"transport"} | BELOW_DOOR for name in TRANSPORTS})

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def part_of(path):
    """The part that a file, relative to kernel/, belongs to."""
    first = path.split("/")[0]
    return os.path.splitext(first)[0] if "/" not in path else first


def target_of(path, name):
    """The file, relative to kernel/, that `path` means by "name"; None for uapi/."""
    for candidate in (os.path.join(os.path.dirname(path), name), name):
        if os.path.exists(os.path.join(KERNEL, candidate)):
            return os.path.normpath(candidate)
    if os.path.exists(os.path.join(TOP, "uapi", name)):
        return None
    raise LookupError(name)


def complaints(path, text):
    """What is wrong with one file."""
    part = part_of(path)
    if part == "compat":
        return
    code = COMMENT.sub("", text)
    if part not in REACH:
        yield "is of a part that selftests/lint/layers.py does not know: %s" % part
        return
    for quoted, angled in INCLUDE.findall(code):
        if angled:
            if part == "proto" and path != "proto/deps.h":
                yield "includes <%s>; in proto/ only deps.h may" % angled
            if part == "verbs" and angled == "linux/skbuff.h":
                yield "includes <%s>; verbs/ sees no packets" % angled
            continue
        try:
            target = target_of(path, quoted)
        except LookupError:
            yield 'includes "%s", which is nowhere' % quoted
            continue
        if target is None:
            continue
        to = part_of(target)
        if to != part and to not in REACH[part]:
            yield 'includes "%s": %s must not know %s' % (quoted, part, to)
    # rdma_restrack hands verbs/ a netlink message; that is no packet.
    if part == "verbs" and re.search(r"\bsk_buff\b", re.sub(r"struct sk_buff \*msg\b", "", code)):
        yield "mentions sk_buff; verbs/ sees no packets"
    if re.search(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION|UTS_RELEASE|TERN_HAS_\w+)\b"
                 r"|<linux/version.h>", code):
        yield "depends on the kernel's version; only compat/ may"


def sources():
    for folder, dirs, names in os.walk(KERNEL):
        dirs.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), KERNEL)


def main():
    bad = count = 0
    for path in sources():
        count += 1
        with open(os.path.join(KERNEL, path), encoding="utf-8") as f:
            for what in complaints(path, f.read()):
                print("kernel/%s %s" % (path, what))
                bad += 1
    print("%d files, %d arrows that go the wrong way" % (count, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
