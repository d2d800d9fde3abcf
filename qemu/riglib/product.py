# SPDX-License-Identifier: GPL-2.0
"""tern's files for guests, built for their suite and their kernel.

For the host's suite and the kernel whose headers it has, they are those of `make` in build/ (or
TERN_BUILD). For kernels that the rig builds, the module is made in their trees. For others they are
built in a build root. TERN_KO and TERN_PROVIDER name other files.
"""

import glob
import os

from . import apt, buildroot, debug, paths, tool, umlkernel
from .say import RigError

_BUILD = os.environ.get("TERN_BUILD") or os.path.join(paths.CHECKOUT, "build")


def _chosen(variable):
    path = os.environ.get(variable)
    if path and not os.path.exists(path):
        raise RigError("%s names %s, which does not exist" % (variable, path))
    return path and os.path.abspath(path)


def _built_for(path):
    """The kernel release of a module."""
    words = tool.run(["modinfo", "-F", "vermagic", path]).split()
    return words[0] if words else ""


def module(suite, release, version=None):
    """tern.ko for a kernel release of a suite. `version` is the argument of --kernel."""
    chosen = _chosen("TERN_KO")
    if chosen:
        return chosen
    if version == debug.NAME:
        return debug.kernel().tern(os.path.join(paths.CHECKOUT, "build", debug.NAME))
    if version in umlkernel.NAMES:
        return umlkernel.module(version)
    if suite == apt.host_suite():
        path = os.path.join(_BUILD, "module", "tern.ko")
        there = os.path.exists(path)
        if there and _built_for(path) == release:
            return path
        if not there and not version:
            raise RigError("tern.ko is not built: run 'make' first (or set TERN_KO)")
    return buildroot.module(suite, release)


def providers(suite):
    """The provider for a suite's libibverbs: its plugins."""
    chosen = _chosen("TERN_PROVIDER")
    if chosen:
        return [chosen]
    if suite != apt.host_suite():
        return buildroot.provider(suite)
    found = sorted(glob.glob(os.path.join(_BUILD, "provider", "libtern-rdmav*.so")))
    if not found:
        raise RigError("the provider is not built: run 'make' first (or set TERN_PROVIDER)")
    return found


def without_debug(path):
    """A copy without debug information, which is nine tenths of a module. Cached by its time."""
    folder = os.path.join(paths.BUILD, "stripped")
    # Modules for several kernels have the same name, so each has a folder.
    small = os.path.join(folder, os.path.dirname(path).strip("/").replace("/", "-"),
                         os.path.basename(path))
    os.makedirs(os.path.dirname(small), exist_ok=True)
    built = os.stat(path).st_mtime_ns
    if not os.path.exists(small) or os.stat(small).st_mtime_ns != built:
        with paths.locked("strip"):
            tool.run(["objcopy", "--strip-debug", path, small + ".new"])
            os.utime(small + ".new", ns=(built, built))
            os.rename(small + ".new", small)
    return small
