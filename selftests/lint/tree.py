#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tree.py CHECK: one property of all text files of the tree.

licences  source files name their licence, and LICENSES/ has its text
words     no notes to self, no paths of somebody's machine
space     no trailing white space, no carriage returns, newline at the end
python    Python parses, and is indented with spaces
pylint    Python names only what there is
version   VERSION and dkms.conf agree
kbuild    Kbuild names exactly the sources that kernel/ has
reclaim   what storage waits for has a worker when there is no memory
dumps     what ib_core's netlink dumps call holds the QP that it looks at
"""

import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIP_DIRS = re.compile(r"(^|/)(\.git|build|LICENSES|corpus|__pycache__)/")
SOURCE = re.compile(r"\.(c|h|cc|inc|py|sh|mk|map|sbatch)$|(^|/)(Makefile|Kbuild|dkms\.conf)$")
BINARY = re.compile(r"\.(png|jpg|gz|xz|pcap|pcapng|ko|o)$")
SPDX = re.compile(r"SPDX-License-Identifier: \(?([A-Za-z0-9.-]+)(?: OR ([A-Za-z0-9.-]+))?\)?")
# Put together here, so that this file passes its own check.
WORDS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
PATHS = re.compile(r"(?<![\w.$}*])/(" + "|".join(("ho" + "me/[a-z]", "wo" + "rk/", "Us" + "ers/")) + ")")


def all_files():
    """What git has or would take; without git, whatever is there."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP,
                             check=True, capture_output=True, text=True).stdout
        return out.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return [os.path.relpath(os.path.join(folder, name), TOP)
                for folder, _, names in os.walk(TOP) for name in names]


def files():
    for path in sorted(all_files()):
        full = os.path.join(TOP, path)
        if os.path.isfile(full) and not os.path.islink(full) \
                and not SKIP_DIRS.search(path) and not BINARY.search(path):
            yield path


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8", newline="") as f:
        return f.read()


def is_python(path, text):
    return path.endswith(".py") or re.match(r"#!.*\bpython3?\b", text)


def numbered(path, text, pattern, what):
    for number, line in enumerate(text.split("\n"), 1):
        found = pattern.search(line)
        if found:
            yield "%s:%d: %s: %s" % (path, number, what, found.group(0).strip("\r") or "here")


def licences(path, text):
    if not SOURCE.search(path) and not text.startswith("#!"):
        return
    found = SPDX.search("\n".join(text.split("\n")[:3]))
    if not found:
        yield "%s: no SPDX-License-Identifier in the first three lines" % path
        return
    for name in filter(None, found.groups()):
        if not os.path.exists(os.path.join(TOP, "LICENSES", name)):
            yield "%s: LICENSES/ has no %s" % (path, name)


def words(path, text):
    yield from numbered(path, text, WORDS, "note to self")
    yield from numbered(path, text, PATHS, "path of one machine")


def space(path, text):
    # An empty line of context is a blank in a patch.
    trailing = r"(?<!^)[ \t]+\r?$" if path.endswith(".patch") else r"[ \t]+\r?$"
    yield from numbered(path, text, re.compile(trailing), "trailing white space")
    yield from numbered(path, text, re.compile(r"\r"), "carriage return")
    if text and not text.endswith("\n"):
        yield "%s: no newline at the end" % path


def python(path, text):
    if not is_python(path, text):
        return
    try:
        compile(text, path, "exec")
    except SyntaxError as e:
        yield "%s:%s: %s" % (path, e.lineno, e.msg)
    yield from numbered(path, text, re.compile(r"^\s*\t"), "tab in the indentation")


def pylint():
    """Its errors alone: names that nobody has, calls with the wrong arguments."""
    paths = [path for path in files() if is_python(path, read(path))]
    # Where scripts look for what they import.
    env = dict(os.environ, PYTHONPATH=":".join(sorted({os.path.dirname(path) for path in paths})))
    command = ["pylint", "--errors-only", "--jobs=0", "--disable=import-error", *paths]
    found = subprocess.run(command, cwd=TOP, env=env, capture_output=True, text=True, check=False)
    said = (found.stdout + found.stderr).splitlines()
    yield from said
    if found.returncode and not said:
        yield "pylint ended with %d" % found.returncode


def version():
    want = read("VERSION").strip()
    for path, pattern in (("dkms/dkms.conf", r'^PACKAGE_VERSION="(.*)"$'),
                          ("kernel/core/device.h", r'TERN_VERSION\s+"(.*)"$'),
                          ("debian/changelog", r"\Atern \((.*?)\)")):
        found = re.search(pattern, read(path), re.M)
        if not found or found.group(1) != want:
            yield "%s: its version is not VERSION's %s" % (path, want)


def kbuild():
    listed = re.findall(r"^tern-y \+= (\S+)\.o$", read("Kbuild"), re.M)
    there = {p[:-2] for p in files() if re.match(r"kernel/.*\.c$", p)}
    for name in sorted(there - set(listed)):
        yield "Kbuild: %s.o is missing" % name
    for name in sorted(set(listed) - there):
        yield "Kbuild: %s.o has no source" % name
    if len(listed) != len(set(listed)):
        yield "Kbuild: an object is listed twice"


QUEUE = re.compile(r"\b(?:alloc|create)_\w*workqueue\s*\(([^;]*)\)\s*;")
SHARED_QUEUE = re.compile(r"\b(?:schedule_(?:delayed_)?work\w*\s*\(|system_\w*wq\b)")
EP_LOCK = re.compile(r"\bmutex_\w*lock\w*\(&(?:ep|child|listener)->lock")


def reclaim(path, text):
    """The kernel's own queues have no rescuer, and others' work that waits for memory."""
    if not re.match(r"kernel/.*\.[ch]$", path):
        return
    for found in QUEUE.finditer(text):
        # Page faults of programs allocate memory: a rescuer would be of no use.
        if "WQ_MEM_RECLAIM" not in found[1] and path != "kernel/core/fault.c":
            yield "%s:%d: a workqueue without WQ_MEM_RECLAIM" % (
                path, text.count("\n", 0, found.start()) + 1)
    yield from numbered(path, text, SHARED_QUEUE, "work on one of the kernel's queues")
    if path != "kernel/iwarp/cm/ep.h":
        yield from numbered(path, text, EP_LOCK, "not by iw_ep_lock()")


DUMPED = re.compile(r"^int (tern_fill_res_qp_(?:entry|raw)|tern_query_qp)\(.*?^}", re.M | re.S)


def dumps():
    """Older ib_core comes for QPs that are destroyed already."""
    seen = 0
    for path in filter(re.compile(r"kernel/verbs/.*\.c$").match, files()):
        for found in DUMPED.finditer(read(path)):
            seen += 1
            if "to_tern_qp(" in found[0] or "tern_qp_hold(" not in found[0]:
                yield "%s: %s() has its QP without tern_qp_hold()" % (path, found[1])
    if seen != 3:
        yield "%d of 3 functions found" % seen


PER_FILE = {"licences": licences, "words": words, "space": space, "python": python,
            "reclaim": reclaim}
WHOLE = {"pylint": pylint, "version": version, "kbuild": kbuild, "dumps": dumps}


def found_by(check):
    if check in WHOLE:
        yield from WHOLE[check]()
        return
    for path in files():
        try:
            text = read(path)
        except UnicodeDecodeError:
            yield "%s: not UTF-8" % path
            continue
        yield from PER_FILE[check](path, text)


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in {**PER_FILE, **WHOLE}:
        sys.exit(__doc__)
    bad = 0
    for line in found_by(sys.argv[1]):
        print(line)
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
