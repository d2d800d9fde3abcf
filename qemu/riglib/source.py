# SPDX-License-Identifier: GPL-2.0
"""Kernels made from Debian's source package: unpack, configure, compile.

For those that no package offers: the debug kernel (debug.py), the native rig's (umlkernel.py)
and the User Mode Linux of bench/native. Each says what its configuration is, and keeps what it
needs of the result.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import time

from . import tool
from .say import RigError, progress

TARBALL = "/usr/src/linux-source-6.1.tar.xz"
LIMIT_S = 2 * 3600


def key(config, *more):
    """A short name for what is made of this source package, the file `config` and `more`."""
    with open(config, "rb") as f:
        text = f.read()
    try:
        size = os.stat(TARBALL).st_size
    except OSError:
        raise RigError("there is no %s: run qemu/install-deps.sh (Debian package "
                       "linux-source-6.1)" % TARBALL) from None
    return hashlib.sha256(repr((text, size) + more).encode()).hexdigest()[:12]


def unpack(tree, tarball=TARBALL):
    """The sources, in the folder `tree`, which has them whole or not at all."""
    progress("unpacking " + tarball)
    shutil.rmtree(tree + ".new", ignore_errors=True)
    os.makedirs(tree + ".new")
    tool.run(["tar", "-xJf", tarball, "--strip-components=1", "-C", tree + ".new"], limit_s=600,
             what="unpacking the kernel sources")
    os.rename(tree + ".new", tree)


def settings(path):
    """The CONFIG_ lines of a file: {name: value}."""
    with open(path, encoding="ascii") as f:
        lines = [line.strip() for line in f]
    return dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))


def configure(tree, config, *make_args):
    """Make .config of the file `config`; a setting that Kconfig does not take is an error."""
    tool.run(["make", "-s", "-C", tree, "KCONFIG_ALLCONFIG=" + config, *make_args, "allnoconfig"],
             what="configuring the kernel")
    taken = settings(os.path.join(tree, ".config"))
    lost = [name for name, value in settings(config).items() if taken.get(name, "n") != value]
    if lost:
        raise RigError("Kconfig does not take these lines of %s (what do they depend on?): %s"
                       % (os.path.relpath(config), " ".join(lost)))


def compile_kernel(tree, log_path, what, *make_args):
    """Build `make_args` (targets and variables), with a line a minute. `what` is its name."""
    jobs = os.cpu_count() or 1
    argv = ["nice", "-n", "19", "make", "-C", tree, "-j%d" % jobs, *make_args]
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
                    if seconds > LIMIT_S:
                        raise RigError("the %s was not built after %d s; run the same again "
                                       "and it goes on from there" % (what, seconds)) from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, 15)
                child.wait(60)
    if child.returncode:
        with open(log_path, encoding="utf-8", errors="replace") as f:
            bad = [line for line in f.read().splitlines() if "rror" in line][-8:]
        raise RigError("the %s did not build; see %s\n  %s" % (what, log_path, "\n  ".join(bad)))


# Of a tree, what building a module reads.
_FOR_MODULES = ("Makefile", "Module.symvers", "System.map", ".config", ".kernelrelease", "arch",
                "include", "scripts", "tools")
_TOOLS = ("objtool", "include", "build", "scripts")


def keep_for_modules(tree, arches):
    """Throw away what no module's build reads: nine tenths."""
    doomed = [entry.path for entry in os.scandir(tree) if entry.name not in _FOR_MODULES]
    for folder, kept in (("arch", arches), ("tools", _TOOLS)):
        doomed += [path for path in glob.glob(os.path.join(tree, folder, "*"))
                   if os.path.isdir(path) and os.path.basename(path) not in kept]
    for path in doomed:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
