# SPDX-License-Identifier: GPL-2.0
"""Keeps the host's CPUs awake, so that User Mode Linux wakes up quickly.

Each of its system calls passes from one thread of the host to another. In virtual machines it takes
about 50 us to wake an idle CPU for that, and 10 us to switch from an unimportant task.
"""

import contextlib
import os
import subprocess
import sys

# In the session of the measured processes: if the scheduler first shares the CPUs among sessions,
# SCHED_IDLE tasks of another session count like any others. It ends with its parent, which it
# checks several times a second.
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
    """In the block no CPU of the host is idle. Tasks of the lowest priority keep it busy."""
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
