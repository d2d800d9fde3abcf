# SPDX-License-Identifier: GPL-2.0
"""Kernels made from Debian's source packages: unpack, patch, configure, compile, keep.

For kernels without a package: the debug kernel (debug.py), the native rig's (umlkernel.py) and
the User Mode Linux of bench/native. Each is built once for its configuration and a version of the
package. An interrupted build continues later. Only the part of the source tree that builds modules is
kept, and tern.ko is built with it on demand.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time

from . import apt, paths, tool
from .say import RigError, progress

LIMIT_S = 2 * 3600
_NAME = re.compile(r"linux-source-(\d+)\.(\d+)")


# ---- archives ----

def newest_version(suite):
    """The version, such as "7.3", of the newest sources in the suite or its -backports."""
    versions = [tuple(map(int, m.groups())) for m in
                map(_NAME.fullmatch, apt.Archive(suite).names("linux-source-")) if m]
    if not versions:
        raise RigError("Debian %s and its -backports have no kernel sources" % suite)
    return "%d.%d" % max(versions)


def _kept(suite, version):
    """The archive of a version that was fetched last, or None."""
    found = glob.glob(os.path.join(paths.IMAGES, "source-%s-%s_*.tar.xz" % (suite, version)))
    return max(found, key=os.path.getmtime) if found else None


def _fetch(suite, version):
    package = "linux-source-" + version
    archive = apt.Archive(suite)
    revision = archive.candidates([package]).get(package)
    if not revision:
        raise RigError("Debian %s and its -backports have no %s" % (suite, package))
    path = os.path.join(paths.IMAGES, "source-%s-%s_%s.tar.xz" % (suite, version, revision))
    if not os.path.exists(path):
        progress("fetching the kernel sources %s (%s)" % (package, revision))
        with tempfile.TemporaryDirectory(prefix="source.", dir=paths.IMAGES) as work:
            archive.unpack([package], work)
            shutil.move(os.path.join(work, "usr/src", package + ".tar.xz"), path)
    os.utime(path)
    return path


def archive(suite, version, fresh=False):
    """Path of the suite's kernel sources of a version, fetched if needed. `fresh`: its newest
    revision, even if another one is here already."""
    paths.make_dirs()
    with paths.locked("source-" + suite, limit_s=1200):
        return (not fresh and _kept(suite, version)) or _fetch(suite, version)


def _patch(folder, patches, patch_file):
    for name, old, new in patches:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if text.count(old) != 1:
            raise RigError("%s has no line '%s'" % (path, old.strip()))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
    if patch_file:
        tool.run(["patch", "-s", "-p1", "-F0", "-d", folder, "-i", patch_file],
                 what="patching the sources")


def unpack(tarball, folder, part="", patches=(), patch_file=None):
    """Unpack the sources, or their folder `part`, in `folder`, and change them. `folder` is complete or
    does not exist. patches: (file, old text, new text); patch_file: a patch for patch(1)."""
    progress("unpacking " + os.path.basename(tarball))
    shutil.rmtree(folder + ".new", ignore_errors=True)
    os.makedirs(folder + ".new")
    tool.run(["tar", "-xJf", tarball, "--strip-components=1", "-C", folder + ".new", "--wildcards",
              "linux-source-*/" + part], limit_s=600, what="unpacking the kernel sources")
    _patch(folder + ".new", patches, patch_file)
    os.rename(folder + ".new", folder)


SIW = "drivers/infiniband/sw/siw"


def _siw_parameter(name):
    return ((SIW + "/siw.h", "extern const bool %s;" % name, "extern bool %s;" % name),
            (SIW + "/siw_main.c", "\nconst bool %s;" % name,
             "\nbool {0}; module_param({0}, bool, 0644);".format(name)))


# Constants of siw become parameters, which tests set.
SIW_PARAMETERS = _siw_parameter("mpa_crc_required") + _siw_parameter("peer_to_peer")


_OURS = re.compile(r"(source-[a-z]+)-.*|(kernel-[a-z-]+)-[0-9a-f]{12}(?:\.work)?")


def newest():
    """The names in paths.IMAGES to keep: the last used archive of each suite, and the newest kernel of
    each name."""
    sorts = {}
    for entry in sorted(os.scandir(paths.IMAGES), key=lambda entry: entry.stat().st_mtime):
        found = _OURS.fullmatch(entry.name)
        if found:
            sorts[found.group(1) or found.group(2)] = entry.name
    return list(sorts.values())


# ---- settings ----

def settings(path):
    """The CONFIG_ lines of a file: {name: value}."""
    with open(path, encoding="ascii") as f:
        lines = [line.strip() for line in f]
    return dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))


def _configure(tree, config, make_args):
    """Make .config of {name: value}. A setting that Kconfig does not accept is an error."""
    path = os.path.join(tree, "wanted.config")
    with open(path, "w", encoding="ascii") as f:
        f.writelines("%s=%s\n" % pair for pair in config.items())
    tool.run(["make", "-s", "-C", tree, "KCONFIG_ALLCONFIG=" + path, *make_args, "allnoconfig"],
             what="configuring the kernel")
    taken = settings(os.path.join(tree, ".config"))
    lost = [name for name, value in config.items() if taken.get(name, "n") != value]
    if lost:
        raise RigError("Kconfig does not take these settings (what do they depend on?): %s"
                       % " ".join(lost))


# ---- kernels ----

def _compile(tree, log_path, what, make_args):
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


# The files of a tree that building a module needs.
_FOR_MODULES = ("Makefile", "Module.symvers", "System.map", ".config", ".kernelrelease", "arch",
                "include", "scripts", "tools")
_TOOLS = ("objtool", "include", "build", "scripts")


def _keep_for_modules(tree, arches):
    """Remove what building a module does not need: nine tenths."""
    doomed = [entry.path for entry in os.scandir(tree) if entry.name not in _FOR_MODULES]
    for folder, kept in (("arch", arches), ("tools", _TOOLS)):
        doomed += [path for path in glob.glob(os.path.join(tree, folder, "*"))
                   if os.path.isdir(path) and os.path.basename(path) not in kept]
    for path in doomed:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


class Kernel:
    """A kernel built from a source archive, and its folder."""

    def __init__(self, name, tarball, config, keep, kept=(), patches=(), patch_file=None, arch="",
                 image="", seconds="", rebuild=False):
        """config: {CONFIG_name: value}. keep(tree, release, out) copies the needed files of the built
        tree into the new folder `out`. `kept` names what it copies: another value is another kernel.
        patches, patch_file: as for unpack(). arch: "um", or the host's. image: make's target besides
        modules. seconds: the duration, in words. rebuild: even if it exists.
        """
        self.name, self._tarball, self._config = name, tarball, config
        self._keep, self._image, self._seconds, self._rebuild = keep, image, seconds, rebuild
        self._patches, self._patch_file = patches, patch_file
        self._make_args = ("ARCH=" + arch,) if arch else ()
        self._arches = (arch, "x86")
        text = ""
        if patch_file:
            with open(patch_file, encoding="utf-8") as f:
                text = f.read()
        what = (sorted(config.items()), os.path.basename(tarball), patches, text, arch, image, kept)
        key = hashlib.sha256(repr(what).encode()).hexdigest()[:12]
        self.folder = os.path.join(paths.IMAGES, "kernel-%s-%s" % (name, key))

    def ensure(self):
        """Return (release, folder); builds the kernel if it is missing."""
        if self._rebuild or not os.path.exists(self.folder):
            with paths.locked("kernel-" + self.name, limit_s=LIMIT_S):
                if self._rebuild:
                    for folder in (self.folder, self.folder + ".work"):
                        shutil.rmtree(folder, ignore_errors=True)
                if not os.path.exists(self.folder):
                    self._build()
                self._rebuild = False
        with open(os.path.join(self.folder, "release"), encoding="ascii") as f:
            return f.read().strip(), self.folder

    def _build(self):
        work = self.folder + ".work"
        tree, keep = os.path.join(work, "tree"), os.path.join(work, "keep")
        os.makedirs(work, exist_ok=True)
        if not os.path.exists(tree):
            unpack(self._tarball, tree, "", self._patches, self._patch_file)
        _configure(tree, self._config, self._make_args)
        log = os.path.join(paths.IMAGES, self.name + "-kernel.log")
        progress("building the %s kernel: once, %s s on two processors (log: %s)"
                 % (self.name, self._seconds, os.path.relpath(log)))
        _compile(tree, log, self.name + " kernel", (*self._make_args, self._image, "modules"))
        release = tool.run(["make", "-s", "-C", tree, *self._make_args, "kernelrelease"]).strip()
        shutil.rmtree(keep, ignore_errors=True)
        os.mkdir(keep)
        self._keep(tree, release, keep)
        os.rename(tree, os.path.join(keep, "tree"))
        _keep_for_modules(os.path.join(keep, "tree"), self._arches)
        with open(os.path.join(keep, "release"), "w", encoding="ascii") as f:
            f.write(release + "\n")
        os.rename(keep, self.folder)
        shutil.rmtree(work)

    @property
    def tree(self):
        """The kept part of its sources, with which modules are built."""
        path = os.path.join(self.folder, "tree")
        if not os.path.exists(path):
            raise RigError("the %s kernel is not built, or not as it is wanted now: run 'qemu/rig "
                           "image --kernel %s'" % (self.name, self.name))
        return path

    def install_modules(self, tree, root, *more):
        """Its modules, in root/lib/modules, without links to the sources."""
        tool.run(["make", "-s", "-C", tree, *self._make_args, "INSTALL_MOD_PATH=" + root, *more,
                  "modules_install"], limit_s=600, what="installing the %s kernel's modules"
                 % self.name)
        for link in glob.glob(os.path.join(root, "lib/modules/*/build")) + \
                glob.glob(os.path.join(root, "lib/modules/*/source")):
            os.unlink(link)

    def make(self, folder, *words, what):
        """Run make for this kernel's modules in a folder of sources."""
        tool.run(["make", "-C", folder, *self._make_args, *words], limit_s=900,
                 what="building %s for the %s kernel" % (what, self.name),
                 env=dict(os.environ, MAKEFLAGS="", MAKELEVEL=""))

    def tern(self, beside):
        """Build tern.ko for it in the folder `beside`, if anything changed; returns its path."""
        progress("building tern.ko for the %s kernel" % self.name)
        with paths.locked(self.name + "-module"):
            # With line numbers, for reports.
            self.make(paths.CHECKOUT, "module", "KDIR=" + self.tree, "BUILD=" + beside,
                      "KCFLAGS=-g", what="tern.ko")
        return os.path.join(beside, "module", "tern.ko")
