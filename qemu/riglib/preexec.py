# SPDX-License-Identifier: GPL-2.0
"""What a child does before it becomes another program: for Popen's preexec_fn.

It takes nothing of the package, for keeper.py, which is a program, has it too.
"""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG, _ADDR_NO_RANDOMIZE = 1, 0x0040000
_LIBC = ctypes.CDLL(None)


def die_with(parent):
    """It is killed when that process, more exactly the thread that started it, ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def keep_addresses():
    """User Mode Linux does not run itself again to be where it wants to be: its heap follows it."""
    _LIBC.personality(_ADDR_NO_RANDOMIZE)
