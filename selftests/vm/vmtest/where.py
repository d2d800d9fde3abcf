# SPDX-License-Identifier: GPL-2.0
"""Where things are on the host, and building the tools that run in the guests."""

import glob
import os
import subprocess

from riglib import tern

HERE = os.path.dirname(os.path.realpath(__file__))
VM = os.path.dirname(HERE)
TOP = os.path.dirname(os.path.dirname(VM))
BUILD = os.environ.get("TERN_BUILD") or os.path.join(TOP, "build")
TOOLS = os.path.join(BUILD, "vmtools")
RESULTS = os.path.join(BUILD, "vmtest")
PROGRAMS = ("vverify", "verrors", "vchaos", "vtarget", "viwarp", "vstorm", "vcm", "vrace",
            "vfair", "vmemcpy", "vturn")


class Missing(Exception):
    """Something that had to be built before is not there."""


def build_tools():
    """Build the C++ tools; cheap when nothing changed."""
    done = subprocess.run(["make", "-C", VM, "O=" + TOOLS, "-j2", "--no-print-directory"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Missing("the tools did not build:\n" + done.stdout.decode("utf-8", "replace")[-4000:])
    return [os.path.join(TOOLS, name) for name in PROGRAMS] + \
        sorted(glob.glob(os.path.join(VM, "tools", "guest", "*")))


def siw_file():
    """siw.ko, the peer of the iWARP tests: Debian has its source, but does not build it."""
    folder = os.path.join(BUILD, "siw")
    module = os.path.join(folder, "siw.ko")
    builder = os.path.join(VM, "build-siw")
    if not os.path.exists(module) or os.path.getmtime(module) < os.path.getmtime(builder):
        done = subprocess.run([builder, folder], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Missing("siw did not build:\n" + done.stdout.decode("utf-8", "replace")[-4000:])
    return module


def driver_files(kernel=None):
    """tern.ko for that kernel, the provider, and the script that sets a guest up."""
    own = tern.own_module(kernel)
    module = own or os.path.join(BUILD, "module", "tern.ko")
    providers = glob.glob(os.path.join(BUILD, "provider", "libtern-rdmav*.so"))
    if not os.path.exists(module) or not providers:
        raise Missing("no %s or no provider beside it: run make first" % module)
    # Without its debug information it is a tenth as long to push and to load.
    folder = os.path.join(TOOLS, kernel) if own else TOOLS
    os.makedirs(folder, exist_ok=True)
    stripped = os.path.join(folder, "tern.ko")
    subprocess.run(["strip", "--strip-debug", "-o", stripped, module], check=True)
    return [stripped, os.path.join(TOP, "qemu", "guest-setup.sh")] + providers
