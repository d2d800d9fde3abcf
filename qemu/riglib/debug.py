# SPDX-License-Identifier: GPL-2.0
"""The debug kernel: Debian's 6.1 sources with every checker on, for --kernel debug.

Built once for a debug.config, a quarter of an hour on two processors; a build that was
interrupted goes on where it stopped. What is left of the source tree is what it takes to build
modules: tern.ko for this kernel is made from it whenever it is asked for.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import time

from . import paths, tool
from .say import RigError, progress

NAME = "debug"
CONFIG = os.path.join(paths.QEMU_DIR, "debug.config")
SOURCES = "/usr/src/linux-source-6.1.tar.xz"

# How many times longer guests may take for everything, and what memory they get: the checkers
# keep an eighth of it for themselves, and what was freed for a while.
SLOW = 6
MEM_MIB = 2048

_FORMAT = "1"  # raise it when what is built, or how, changes
_LIMIT_S = 2 * 3600
# Of the tree, what building a module reads.
_FOR_MODULES = ("Makefile", "Module.symvers", "System.map", ".config", ".kernelrelease", "arch",
                "include", "scripts", "tools")


def _key():
    with open(CONFIG, "rb") as f:
        text = f.read()
    try:
        size = os.stat(SOURCES).st_size
    except OSError:
        raise RigError("there is no %s: run qemu/install-deps.sh (Debian package "
                       "linux-source-6.1)" % SOURCES) from None
    return hashlib.sha256(repr((text, size, _FORMAT)).encode()).hexdigest()[:12]


def folder():
    """Where the kernel is, or will be."""
    return os.path.join(paths.IMAGES, "kernel-debug-" + _key())


def _unpack(tree):
    progress("unpacking " + SOURCES)
    shutil.rmtree(tree + ".new", ignore_errors=True)
    os.makedirs(tree + ".new")
    tool.run(["tar", "-xJf", SOURCES, "--strip-components=1", "-C", tree + ".new"], limit_s=600,
             what="unpacking the kernel sources")
    os.rename(tree + ".new", tree)


def _settings(path):
    """The CONFIG_ lines of a file: {name: value}."""
    with open(path, encoding="ascii") as f:
        lines = [line.strip() for line in f]
    return dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))


def _configure(tree):
    """Make .config of debug.config; a setting that Kconfig does not take is an error."""
    tool.run(["make", "-s", "-C", tree, "KCONFIG_ALLCONFIG=" + CONFIG, "allnoconfig"],
             what="configuring the debug kernel")
    taken = _settings(os.path.join(tree, ".config"))
    lost = [name for name, value in _settings(CONFIG).items() if taken.get(name) != value]
    if lost:
        raise RigError("Kconfig does not take these lines of %s (what do they depend on?): %s"
                       % (os.path.relpath(CONFIG), " ".join(lost)))


def _compile(tree, log_path):
    """Build kernel and modules, with a line a minute."""
    jobs = os.cpu_count() or 1
    progress("building the debug kernel: once, 1000 to 2000 s on two processors (log: %s)"
             % os.path.relpath(log_path))
    argv = ["nice", "-n", "19", "make", "-C", tree, "-j%d" % jobs, "bzImage", "modules"]
    began = time.monotonic()
    with open(log_path, "w+", encoding="utf-8", errors="replace") as log:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 env=dict(os.environ, LC_ALL="C.UTF-8", MAKEFLAGS=""))
        try:
            while child.poll() is None:
                try:
                    child.wait(60)
                except subprocess.TimeoutExpired:
                    seconds = time.monotonic() - began
                    with open(log_path, encoding="utf-8", errors="replace") as f:
                        done = len(re.findall(r"(?m)^  (?:CC|AS)", f.read()))
                    progress("  %d files compiled" % done)
                    if seconds > _LIMIT_S:
                        raise RigError("the debug kernel was not built after %d s; run the same "
                                       "again and it goes on from there" % seconds) from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, 15)
                child.wait(60)
    if child.returncode:
        with open(log_path, encoding="utf-8", errors="replace") as f:
            bad = [line for line in f.read().splitlines() if "rror" in line][-8:]
        raise RigError("the debug kernel did not build; see %s\n  %s"
                       % (log_path, "\n  ".join(bad)))


def _keep_for_modules(tree):
    """Throw away what no module's build reads: nine tenths."""
    for entry in list(os.scandir(tree)):
        if entry.name in _FOR_MODULES:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    for other in glob.glob(os.path.join(tree, "arch", "*")):
        if os.path.isdir(other) and os.path.basename(other) != "x86":
            shutil.rmtree(other)
    for other in glob.glob(os.path.join(tree, "tools", "*")):
        if os.path.basename(other) not in ("objtool", "include", "build", "scripts"):
            shutil.rmtree(other, ignore_errors=True)


def build(install, rebuild=False):
    """Return (release, folder) of the debug kernel, building it when it is not there.

    install(root, release, bzimage, keep) makes what guests boot from, as of any kernel.
    """
    out = folder()
    if rebuild:
        shutil.rmtree(out, ignore_errors=True)
    if not os.path.exists(out):
        with paths.locked("debug-kernel", limit_s=_LIMIT_S):
            if not os.path.exists(out):
                _build(install, out)
    with open(os.path.join(out, "release"), encoding="ascii") as f:
        return f.read().strip(), out


def _build(install, out):
    work = out + ".work"
    tree = os.path.join(work, "tree")
    if not os.path.exists(tree):
        _unpack(tree)
    _configure(tree)
    _compile(tree, os.path.join(paths.IMAGES, "debug-kernel.log"))
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
    _keep_for_modules(tree)
    os.rename(tree, os.path.join(keep, "tree"))
    with open(os.path.join(keep, "release"), "w", encoding="ascii") as f:
        f.write(release + "\n")
    os.rename(keep, out)
    shutil.rmtree(work)


def module():
    """Build tern.ko for the debug kernel, if anything changed; returns its path."""
    tree = os.path.join(folder(), "tree")
    if not os.path.exists(tree):
        raise RigError("the debug kernel is not built: run 'qemu/rig image --kernel debug'")
    beside = os.path.join(paths.CHECKOUT, "build", "debug")
    progress("building tern.ko for the debug kernel")
    with paths.locked("debug-module"):
        # With line numbers, for reports; they are taken off again before it is pushed.
        tool.run(["make", "-C", paths.CHECKOUT, "module", "KDIR=" + tree, "BUILD=" + beside,
                  "KCFLAGS=-g"], limit_s=900, what="building tern.ko for the debug kernel",
                 env=dict(os.environ, MAKEFLAGS=""))
    return os.path.join(beside, "module", "tern.ko")
