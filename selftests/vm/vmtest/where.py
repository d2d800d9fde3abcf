# SPDX-License-Identifier: GPL-2.0
"""Paths on the host, and how the tools for the guests are built.

suite and release are those of the guests; None is what `make` builds for.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess

from riglib import RigError, apt, buildroot, debug, kernel, paths, source, tern, umlkernel

HERE = os.path.dirname(os.path.realpath(__file__))
VM = os.path.dirname(HERE)
TOP = os.path.dirname(os.path.dirname(VM))
BUILD = os.environ.get("TERN_BUILD") or os.path.join(TOP, "build")
TOOLS = os.path.join(BUILD, "vmtools")
RESULTS = os.path.join(BUILD, "vmtest")
PROGRAMS = ("vverify", "verrors", "vchaos", "vtarget", "viwarp", "vstorm", "vcm", "vrace", "vfair",
            "vmemcpy", "vpathswitch", "vspoof", "vexhaust", "vfault", "vunreachable", "vconform",
            "vodpspeed")
BUILD_LIMIT_S = 900


class Missing(Exception):
    """A file that had to be built before is missing."""


def _run_build(argv, what):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=BUILD_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Missing("%s was not built within %d s" % (what, BUILD_LIMIT_S)) from None
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace")
        raise Missing("%s did not build:\n%s" % (what, said[-4000:]))


def build_tools(suite=None):
    """Build the C++ tools, if something changed."""
    if suite in (None, apt.host_suite()):
        _run_build(["make", "-C", VM, "O=" + TOOLS, "-j2", "--no-print-directory"], "the tools")
        folder = TOOLS
    else:
        folder = buildroot.tools(suite)
    return [os.path.join(folder, name) for name in PROGRAMS] + \
        sorted(glob.glob(os.path.join(VM, "tools", "guest", "*")))


# $1: the sources, $2: the kernel's build directory.
_MAKE_SIW = 'make -C "$2" M="$1" CONFIG_RDMA_SIW=m modules && strip --strip-debug "$1/siw.ko"'


def siw_file(suite=None, release=None, version=None):
    """siw.ko, for the iWARP tests: Debian has its source, but does not build it."""
    suite, release = suite or apt.host_suite(), release or kernel.choose()
    if version == debug.NAME:
        tarball, kdir = debug.sources(), debug.kernel().tree
    else:
        tarball = source.archive(suite, re.match(r"\d+\.\d+", release).group(0))
        kdir = "/lib/modules/%s/build" % release
    what = (os.path.basename(tarball), source.SIW_PARAMETERS, _MAKE_SIW, kdir)
    sources = os.path.join(BUILD, "siw", "%s-%s" % (
        release, hashlib.sha256(repr(what).encode()).hexdigest()[:12]))
    folder = os.path.join(sources, source.SIW)
    module = os.path.join(folder, "siw.ko")
    with paths.locked("siw-" + release):
        if os.path.exists(module):
            return module
        shutil.rmtree(sources, ignore_errors=True)
        source.unpack(tarball, sources, source.SIW, source.SIW_PARAMETERS)
        if suite == apt.host_suite() and os.path.exists(kdir):
            _run_build(["sh", "-c", _MAKE_SIW, "siw", folder, kdir], "siw")
        else:
            buildroot.run(suite, "set -- /out %s; %s" % (buildroot.headers(suite, release),
                                                         _MAKE_SIW), folder, what="building siw")
    return module


# The sources of the tests' own modules, relative to the checkout.
_MODULES = "selftests/vm/modules"


def module_folder(suite=None, release=None, version=None):
    """The folder with the tests' own modules, built for that kernel."""
    suite, release = suite or apt.host_suite(), release or kernel.choose()
    folder = os.path.join(BUILD, "vmmodules", version or "", release)
    sources, kdir = os.path.join(TOP, _MODULES), "/lib/modules/%s/build" % release
    made = None
    if version == debug.NAME:
        made = debug.kernel()
    elif version in umlkernel.NAMES:
        made = umlkernel.kernel(version)
    os.makedirs(folder, exist_ok=True)
    with paths.locked("vmmodules-" + release):
        if made:
            made.make(sources, "KDIR=" + made.tree, "OUT=" + folder, what="the tests' modules")
        elif suite == apt.host_suite() and os.path.exists(kdir):
            _run_build(["make", "-C", sources, "KDIR=" + kdir, "OUT=" + folder],
                       "the tests' modules")
        else:
            buildroot.run(suite, "make -C /src/%s KDIR=%s OUT=/out" % (
                _MODULES, buildroot.headers(suite, release)), folder,
                          what="building the tests' modules")
    return folder


def driver_files(suite=None, release=None, version=None):
    """tern.ko for that kernel, the provider, and the guest's set-up script."""
    suite = suite or apt.host_suite()
    try:
        return tern.files(suite, release or kernel.choose(), version)
    except RigError as error:
        raise Missing(str(error)) from None
