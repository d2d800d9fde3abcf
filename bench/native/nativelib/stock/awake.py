# SPDX-License-Identifier: GPL-2.0
"""Keeps the host's CPUs awake, so that User Mode Linux is woken up at once.

Each of its system calls passes from one thread of the host to another. To wake an idle CPU for
that takes some 50 us, in virtual machines at least; one that is busy with something unimportant
takes 10.
"""

import contextlib
import os
import subprocess
import sys

# In the session of what is measured: where the scheduler shares the CPUs among sessions first, another
# session's tasks of SCHED_IDLE count as any others. It ends with its parent, which it looks for
# some times a second.
_LOOP = """
import os, sys
cpu, parent = int(sys.argv[1]), int(sys.argv[2])
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == parent:
    for _ in range(1000000):
        pass
"""


@contextlib.contextmanager
def awake():
    """Inside the block no CPU of the host is idle; nothing that matters is slower for it."""
    loops = []
    try:
        for cpu in sorted(os.sched_getaffinity(0)):
            loops.append(subprocess.Popen(
                [sys.executable, "-c", _LOOP, str(cpu), str(os.getpid())],
                stdin=subprocess.DEVNULL, process_group=0))
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()
