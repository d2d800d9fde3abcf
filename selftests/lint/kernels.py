#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""kernels.py BUILD [SUITE[:KERNEL][:gcc|:clang] ...]: the module for Debian's kernels.

Each is built with W=1 by its suite's own compilers, in the suite's build root, and no
warning is let pass but those of the kernel's own headers. Of each suite come its default
kernel and its newest one, -backports included, which KERNEL may be too: bookworm,
trixie:newest:gcc, trixie:6.12. One line a build, then what was found; "N passed, N failed"
last.
"""

import os
import re
import shutil
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(TOP, "qemu"))

from riglib import apt, buildroot, kernel  # noqa: E402
from riglib.say import RigError  # noqa: E402

LIMIT_S = 1800
COMPILERS = {"gcc": "", "clang": "$(/src/selftests/lint/kernel-clang --make-arguments)"}
# The type information wants a pahole that belongs to the kernel.
MAKE = ("make -j%d -C /src --no-print-directory module BUILD=/out KDIR=%s W=1 "
        "CONFIG_DEBUG_INFO_BTF_MODULES= %s 2>&1")
# Paths are the module's own, or relative to it. Of the kernel's headers warn those that
# newer compilers look at otherwise than the one that they were written for.
WARNING = re.compile(r"^(?!/usr/src/).*\b(warning|error):|^(ERROR|WARNING): modpost", re.M)


def _builds(words):
    """What to build: (suite, release, compiler), each once."""
    for word in words:
        suite, _, rest = word.partition(":")
        parts = [part for part in rest.split(":") if part]
        compilers = [part for part in parts if part in COMPILERS] or list(COMPILERS)
        versions = [part for part in parts if part not in COMPILERS] or [None, kernel.NEWEST]
        for release in dict.fromkeys(kernel.choose(version, suite) for version in versions):
            yield from ((suite, release, compiler) for compiler in compilers)


def _complaints(suite, release, compiler, out):
    """Build; return what there is to complain about."""
    if compiler == "clang":
        buildroot.need(suite, ["clang"])
    command = MAKE % (os.cpu_count() or 1, buildroot.headers(suite, release), COMPILERS[compiler])
    # An object that warned is there, and would be silent the next time.
    shutil.rmtree(out, ignore_errors=True)
    try:
        text = buildroot.run(suite, command, out, LIMIT_S, "building for " + release)
    except RigError as error:
        return [str(error)]
    with open(os.path.join(out, "log"), "w", encoding="utf-8") as f:
        f.write(text)
    return [line for line in text.splitlines() if WARNING.search(line)]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = os.path.realpath(sys.argv[1])
    failed = passed = 0
    for suite, release, compiler in _builds(sys.argv[2:] or apt.SUITES):
        began = time.monotonic()
        found = _complaints(suite, release, compiler,
                            os.path.join(folder, suite, release, compiler))
        print("%s %s %s %s (%d s)" % ("not ok" if found else "ok", suite, release, compiler,
                                      time.monotonic() - began), flush=True)
        for line in found[:30]:
            print("  " + line)
        passed, failed = passed + (not found), failed + bool(found)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


try:
    sys.exit(main())
except (RigError, OSError, subprocess.SubprocessError) as error:
    sys.exit("kernels.py: %s" % error)
