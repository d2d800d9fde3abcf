# SPDX-License-Identifier: GPL-2.0
"""Steps of a child process before it executes another program, for Popen's preexec_fn.

Imports nothing of the package, because keeper.py, which is a program, uses it too.
"""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG, _ADDR_NO_RANDOMIZE = 1, 0x0040000
_LIBC = ctypes.CDLL(None)


def die_with(parent):
    """The child is killed when that process (more exactly, the thread that started it) ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def keep_addresses():
    """User Mode Linux need not execute itself again for its address layout: the heap follows it."""
    _LIBC.personality(_ADDR_NO_RANDOMIZE)
