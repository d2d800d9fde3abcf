# SPDX-License-Identifier: GPL-2.0
"""Paths of all that the rig makes: below build/rig/ of the checkout. All of it can be deleted.

images/  root images and kernels, kept between runs and shared by all rigs
run/     one folder per running rig: its record, sockets, console logs
RIG_BUILD moves the whole tree elsewhere (a bigger disk, a tmpfs).
"""

import contextlib
import fcntl
import os
import re
import time

from .say import RigError, progress

QEMU_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHECKOUT = os.path.dirname(QEMU_DIR)
BUILD = os.path.abspath(os.environ.get("RIG_BUILD") or os.path.join(CHECKOUT, "build", "rig"))
IMAGES = os.path.join(BUILD, "images")
RUN = os.path.join(BUILD, "run")


def run_dir(name):
    """The folder of the rig called `name`."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}", name):
        raise RigError("a rig's name is 1 to 31 letters, digits, '_', '.' or '-': %r is not" % name)
    return os.path.join(RUN, name)


def make_dirs():
    """Create the tree, with a .gitignore for itself."""
    for path in (IMAGES, RUN):
        os.makedirs(path, exist_ok=True)
    ignore = os.path.join(BUILD, ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "w", encoding="ascii") as f:
            f.write("*\n")


@contextlib.contextmanager
def locked(what, limit_s=900):
    """Hold build/rig/<what>.lock, so that two rigs that start together build an image once."""
    make_dirs()
    with open(os.path.join(BUILD, what + ".lock"), "w", encoding="ascii") as f:
        deadline = time.monotonic() + limit_s
        told = False
        while True:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if not told:
                progress("waiting for another rig that is busy with: %s" % what)
                told = True
            if time.monotonic() > deadline:
                raise RigError("another process has held %s for %d s; is it stuck?"
                               % (f.name, limit_s))
            time.sleep(0.2)
        yield
