# SPDX-License-Identifier: GPL-2.0
"""Brings tern into a rig's guests: finds what the host built, pushes it, runs guest-setup.sh.

TERN_KO and TERN_PROVIDER name the module and the provider; without them the places where
the checkout's Makefile may leave them are searched, and the newest is taken. For kernels that
the rig builds itself the module is built, too.
"""

import glob
import os
from concurrent.futures import ThreadPoolExecutor

from . import debug, paths, tool, umlkernel
from .say import RigError, progress

_PLACES = ("", "build", "build/*", "kernel", "provider")
SETUP = os.path.join(paths.QEMU_DIR, "guest-setup.sh")


def _newest(variable, pattern):
    chosen = os.environ.get(variable)
    if chosen:
        if not os.path.exists(chosen):
            raise RigError("%s names %s, which does not exist" % (variable, chosen))
        return os.path.abspath(chosen)
    # build/rig holds other kernels' modules and is none of these places.
    found = [path for place in _PLACES
             for path in glob.glob(os.path.join(paths.CHECKOUT, place, pattern))]
    return max(found, key=os.path.getmtime) if found else None


def own_module(kernel):
    """tern.ko for a kernel that the rig builds itself, brought up to date; None for others."""
    if kernel in umlkernel.NAMES:
        return umlkernel.module(kernel)
    return debug.module() if kernel == debug.NAME else None


def artifacts(kernel=None):
    """The files to push: tern.ko (RigError if it is not built) and, if built, the provider."""
    module = None if os.environ.get("TERN_KO") else own_module(kernel)
    module = module or _newest("TERN_KO", "tern.ko")
    if not module:
        raise RigError("tern.ko is not built: run 'make' first (or set TERN_KO)")
    provider = _newest("TERN_PROVIDER", "libtern-rdmav*.so")
    return [module] + ([provider] if provider else [])


def _without_debug(path):
    """A copy without debug information, which is nine tenths of a module; cached by its time."""
    folder = os.path.join(paths.BUILD, "stripped")
    # Two kernels' modules have one name: a folder each.
    small = os.path.join(folder, os.path.basename(os.path.dirname(os.path.dirname(path))),
                         os.path.basename(path))
    os.makedirs(os.path.dirname(small), exist_ok=True)
    built = os.stat(path).st_mtime_ns
    if not os.path.exists(small) or os.stat(small).st_mtime_ns != built:
        with paths.locked("strip"):
            tool.run(["objcopy", "--strip-debug", path, small + ".new"])
            os.utime(small + ".new", ns=(built, built))
            os.rename(small + ".new", small)
    return small


def files(kernel=None):
    """The same as they are pushed: small."""
    return [_without_debug(path) for path in artifacts(kernel)]


def install(rig, link="tern0", kind="tern_roce", guests=None):
    """Load tern in each guest and add an RDMA link on eth0."""
    pushed = files(rig.options.get("kernel")) + [SETUP]

    def set_up(guest):
        guest.push(pushed, "/tern/")
        guest.run(["sh", "/tern/guest-setup.sh", link, kind], timeout=90, check=True)

    guests = list(guests or rig)
    progress("loading tern in guest%s %s" % ("s" * (len(guests) > 1),
                                             " ".join(guest.name for guest in guests)))
    with ThreadPoolExecutor(len(guests)) as pool:
        list(pool.map(set_up, guests))
