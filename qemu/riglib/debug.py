# SPDX-License-Identifier: GPL-2.0
"""The debug kernel: Debian 12's 6.1 sources with every checker on, for --kernel debug."""

import os
import shutil

from . import paths, source

NAME = "debug"
_CONFIG = os.path.join(paths.QEMU_DIR, "debug.config")

# The factor of all time limits, and the guests' memory: the checkers need an eighth of it, and keep
# freed memory for a while.
SLOW = 6
MEM_MIB = 2048


def sources(fresh=False):
    """The archive of its sources."""
    return source.archive("bookworm", "6.1", fresh)


def kernel(install=None, rebuild=False):
    """The debug kernel, a source.Kernel.

    install(root, release, bzimage, keep) makes what guests boot from, as of any kernel; it is only
    needed to build.
    """
    def keep(tree, release, out):
        root = os.path.join(os.path.dirname(out), "root")
        shutil.rmtree(root, ignore_errors=True)
        made.install_modules(tree, root)
        install(root, release, os.path.join(tree, "arch/x86/boot/bzImage"), out)

    made = source.Kernel(NAME, sources(rebuild), source.settings(_CONFIG), keep, image="bzImage",
                         seconds="1000 to 2000", rebuild=rebuild)
    return made
