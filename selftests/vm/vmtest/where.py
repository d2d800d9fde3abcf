# SPDX-License-Identifier: GPL-2.0
"""Where things are on the host, and building the tools that run in the guests.

suite and release are those of the guests; None is what `make` builds for.
"""

import glob
import os
import re
import shutil
import subprocess

from riglib import RigError, apt, buildroot, debug, kernel, paths, product, tool

HERE = os.path.dirname(os.path.realpath(__file__))
VM = os.path.dirname(HERE)
TOP = os.path.dirname(os.path.dirname(VM))
BUILD = os.environ.get("TERN_BUILD") or os.path.join(TOP, "build")
TOOLS = os.path.join(BUILD, "vmtools")
RESULTS = os.path.join(BUILD, "vmtest")
PROGRAMS = ("vverify", "verrors", "vchaos", "vtarget", "viwarp", "vstorm", "vcm", "vrace",
            "vfair", "vmemcpy", "vturn")
_BUILD_SIW = os.path.join(VM, "build-siw")


class Missing(Exception):
    """Something that had to be built before is not there."""


def _run(argv, what):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace")
        raise Missing("%s did not build:\n%s" % (what, said[-4000:]))


def build_tools(suite=None):
    """Build the C++ tools; cheap when nothing changed."""
    if suite in (None, apt.host_suite()):
        _run(["make", "-C", VM, "O=" + TOOLS, "-j2", "--no-print-directory"], "the tools")
        folder = TOOLS
    else:
        folder = buildroot.tools(suite)
    return [os.path.join(folder, name) for name in PROGRAMS] + \
        sorted(glob.glob(os.path.join(VM, "tools", "guest", "*")))


def _siw_source(folder, suite, release):
    """siw's sources of this kernel, from the source package that the host has or else fetches."""
    name = "linux-source-" + re.match(r"\d+\.\d+", release).group(0)
    tarball = "/usr/src/%s.tar.xz" % name
    if os.path.exists(tarball):
        _run([_BUILD_SIW, "unpack", folder, tarball], "siw")
        return
    work = folder + ".work"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        package = apt.Archive(suite).download(name, work)
        tool.run(["dpkg-deb", "-x", package, work], limit_s=300)
        _run([_BUILD_SIW, "unpack", folder, work + tarball], "siw")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def siw_file(suite=None, release=None, version=None):
    """siw.ko, the peer of the iWARP tests: Debian has its source, but does not build it."""
    suite, release = suite or apt.host_suite(), release or kernel.choose()
    folder = os.path.join(BUILD, "siw", release)
    module = os.path.join(folder, "siw.ko")
    if os.path.exists(module) and os.path.getmtime(module) >= os.path.getmtime(_BUILD_SIW):
        return module
    with paths.locked("siw-" + release):
        if os.path.exists(module) and os.path.getmtime(module) >= os.path.getmtime(_BUILD_SIW):
            return module
        shutil.rmtree(folder, ignore_errors=True)
        _siw_source(folder, suite, release)
        kdir = debug.tree() if version == debug.NAME else "/lib/modules/%s/build" % release
        if suite == apt.host_suite() and os.path.exists(kdir):
            _run([_BUILD_SIW, "make", folder, kdir], "siw")
        else:
            buildroot.run(suite, "/src/selftests/vm/build-siw make /out " +
                          buildroot.headers(suite, release), folder, what="building siw")
    return module


def driver_files(suite=None, release=None, version=None):
    """tern.ko for that kernel, the provider, and the script that sets a guest up."""
    suite = suite or apt.host_suite()
    try:
        module = product.module(suite, release or kernel.choose(), version)
        return [product.without_debug(module), os.path.join(TOP, "qemu", "guest-setup.sh")] + \
            product.providers(suite)
    except RigError as error:
        raise Missing(str(error)) from None
