# SPDX-License-Identifier: GPL-2.0
"""The debug kernel: Debian's 6.1 sources with every checker on, for --kernel debug.

Built once for a debug.config, a quarter of an hour on two processors; a build that was
interrupted goes on where it stopped. What is left of the source tree is what it takes to build
modules: tern.ko for this kernel is made from it whenever it is asked for.
"""

import os
import shutil

from . import paths, source, tool
from .say import RigError, progress

NAME = "debug"
CONFIG = os.path.join(paths.QEMU_DIR, "debug.config")

# How many times longer guests may take for everything, and what memory they get: the checkers
# keep an eighth of it for themselves, and what was freed for a while.
SLOW = 6
MEM_MIB = 2048

_FORMAT = "1"  # raise it when what is built, or how, changes


def folder():
    """Where the kernel is, or will be."""
    return os.path.join(paths.IMAGES, "kernel-debug-" + source.key(CONFIG, _FORMAT))


def build(install, rebuild=False):
    """Return (release, folder) of the debug kernel, building it when it is not there.

    install(root, release, bzimage, keep) makes what guests boot from, as of any kernel.
    """
    out = folder()
    if rebuild:
        shutil.rmtree(out, ignore_errors=True)
    if not os.path.exists(out):
        with paths.locked("debug-kernel", limit_s=source.LIMIT_S):
            if not os.path.exists(out):
                _build(install, out)
    with open(os.path.join(out, "release"), encoding="ascii") as f:
        return f.read().strip(), out


def _build(install, out):
    work = out + ".work"
    tree = os.path.join(work, "tree")
    if not os.path.exists(tree):
        source.unpack(tree)
    source.configure(tree, CONFIG)
    log = os.path.join(paths.IMAGES, "debug-kernel.log")
    progress("building the debug kernel: once, 1000 to 2000 s on two processors (log: %s)"
             % os.path.relpath(log))
    source.compile_kernel(tree, log, "debug kernel", "bzImage", "modules")
    release = tool.run(["make", "-s", "-C", tree, "kernelrelease"]).strip()
    root, keep = os.path.join(work, "root"), os.path.join(work, "keep")
    for path in (root, keep):
        shutil.rmtree(path, ignore_errors=True)
    tool.run(["make", "-s", "-C", tree, "INSTALL_MOD_PATH=" + root, "modules_install"],
             limit_s=600, what="installing the debug kernel's modules")
    # They point to the sources, and have no business in an image.
    for name in ("build", "source"):
        link = os.path.join(root, "lib/modules", release, name)
        if os.path.islink(link):
            os.unlink(link)
    os.mkdir(keep)
    install(root, release, os.path.join(tree, "arch/x86/boot/bzImage"), keep)
    source.keep_for_modules(tree, ("x86",))
    os.rename(tree, os.path.join(keep, "tree"))
    with open(os.path.join(keep, "release"), "w", encoding="ascii") as f:
        f.write(release + "\n")
    os.rename(keep, out)
    shutil.rmtree(work)


def tree():
    """What is left of its sources: enough to build modules."""
    path = os.path.join(folder(), "tree")
    if not os.path.exists(path):
        raise RigError("the debug kernel is not built: run 'qemu/rig image --kernel debug'")
    return path


def module():
    """Build tern.ko for the debug kernel, if anything changed; returns its path."""
    beside = os.path.join(paths.CHECKOUT, "build", "debug")
    progress("building tern.ko for the debug kernel")
    with paths.locked("debug-module"):
        # With line numbers, for reports; they are taken off again before it is pushed.
        tool.run(["make", "-C", paths.CHECKOUT, "module", "KDIR=" + tree(), "BUILD=" + beside,
                  "KCFLAGS=-g"], limit_s=900, what="building tern.ko for the debug kernel",
                 env=dict(os.environ, MAKEFLAGS=""))
    return os.path.join(beside, "module", "tern.ko")
