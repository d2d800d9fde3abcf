# SPDX-License-Identifier: GPL-2.0
"""One boot of the User Mode Linux: its command line, its time limit, its end."""

import contextlib
import os
import shutil
import signal
import subprocess

from riglib.say import RigError, notice

from . import BUILD, HERE

_MEM_MIB = 512


def _memory_folder():
    """Where its memory, a file, shall be: in memory if there is room for it."""
    shm = "/dev/shm"
    if os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > (_MEM_MIB + 64) << 20:
        return shm
    folder = os.path.join(BUILD, "uml", "memory")
    os.makedirs(folder, exist_ok=True)
    return folder


def _kill(child):
    """It and what it traces: all in the session that was made for it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def argv(kernel, ko, settings):
    """The command line; `settings` are BENCH_ variables of `guest`."""
    words = dict(settings, BENCH_KO=ko)
    return [os.path.join(kernel, "linux"), "mem=%dM" % _MEM_MIB, "root=/dev/root",
            "rootfstype=hostfs", "rootflags=/", "ro", "loglevel=7", "con=null", "con0=null,fd:1",
            "con1=null,fd:1", "init=" + os.path.join(HERE, "guest")] + \
           ["%s=%s" % pair for pair in sorted(words.items())]


@contextlib.contextmanager
def started(command, log):
    """The process, whose output goes to the file `log`; it is gone at the end."""
    with open(log, "wb") as f:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 env=dict(os.environ, TMPDIR=_memory_folder()))
        try:
            yield child
        finally:
            _kill(child)


def output(log):
    with open(log, encoding="utf-8", errors="replace") as f:
        return f.read()


def _once(command, limit_s, log):
    with started(command, log) as child:
        try:
            child.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
    return output(log)


def trouble(text):
    """Why its output is that of a failed boot, or None."""
    if "guest: done" not in text:
        said = [line for line in text.splitlines()
                if "guest: " in line or "rdma_bench: " in line or "panic" in line]
        return " / ".join(said[-3:]) or "it did not come to its end"
    for bad in ("WARNING: CPU", "BUG: ", "Oops"):
        if bad in text:
            return "the kernel log has '%s'" % bad
    return None


def run(command, limit_s, log):
    """Boot, at most twice; returns what it wrote. Raises RigError if both fail."""
    for again in (False, True):
        text = _once(command, limit_s, log)
        why = trouble(text)
        if not why:
            return text
        if not again:
            notice("boot failed, once more: %s (log: %s)" % (why, os.path.relpath(log)))
            shutil.copy(log, log + ".first")
    raise RigError("two boots of the User Mode Linux failed: %s; see %s" % (why, log))
