# SPDX-License-Identifier: GPL-2.0
"""One boot of the User Mode Linux: its command line, its time limit, its end."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

from riglib import preexec, uml
from riglib.say import RigError, notice

from . import BUILD, HERE

# With its program at 1.5 GiB all is below 2 GiB, as code of the small model needs.
_MEM_MIB = 256
_RUN = os.path.join(BUILD, "uml", "run-%d" % os.getpid())
_NICE = -10


def _prepare(benchmark):
    """In the child: end with the parent, even a killed one; put the heap behind the program."""
    preexec.die_with(benchmark)
    preexec.keep_addresses()
    # If other processes want the CPU, an operation of a millisecond is often interrupted.
    with contextlib.suppress(OSError):
        os.nice(_NICE)
        # With automatic groups the nice value counts within this session only.
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write(str(_NICE))


def _stop(number, _):
    """As Ctrl-C: processes that were started are ended on the way out."""
    raise KeyboardInterrupt(signal.Signals(number).name)


signal.signal(signal.SIGTERM, _stop)
signal.signal(signal.SIGHUP, _stop)


def _kill(child):
    """Kill it and the processes that it traces: all of its own session."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def argv(kernel, ko, settings):
    """The command line; `settings` are BENCH_ variables of `guest`."""
    words = dict(settings, BENCH_KO=ko)
    for value in (kernel, HERE, *words.values()):
        if re.search(r"[\s\"]", str(value)):
            raise RigError("no blanks, please, on a kernel's command line: '%s'" % value)
    return [os.path.join(kernel, "linux"), "mem=%dM" % _MEM_MIB, "uml_dir=" + _RUN + "/",
            "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "loglevel=7",
            # Trust the host's random numbers: otherwise each one costs a hash of the pool.
            "random.trust_cpu=on", "con=null", "con0=null,fd:1", "con1=null,fd:1",
            "init=" + os.path.join(HERE, "guest")] + \
           ["%s=%s" % pair for pair in sorted(words.items())]


@contextlib.contextmanager
def started(command, log):
    """Yield the process, whose output goes to the file `log`. It is killed at the end."""
    os.makedirs(_RUN, exist_ok=True)
    benchmark = os.getpid()
    with open(log, "wb") as f:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 preexec_fn=lambda: _prepare(benchmark),
                                 env=dict(os.environ, TMPDIR=uml.memory_folder(_MEM_MIB)))
        try:
            yield child
        finally:
            _kill(child)
            shutil.rmtree(_RUN, ignore_errors=True)


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
    """The reason if its output is that of a failed boot, or None."""
    if "guest: done" not in text:
        said = [line for line in text.splitlines()
                if "guest: " in line or "rdma_bench: " in line or "panic" in line]
        return " / ".join(said[-3:]) or "it did not come to its end"
    for bad in ("WARNING: CPU", "BUG: ", "Oops"):
        if bad in text:
            return "the kernel log has '%s'" % bad
    return None


def run(command, limit_s, log):
    """Boot, at most twice. Returns the output. Raises RigError if both boots fail."""
    for again in (False, True):
        text = _once(command, limit_s, log)
        why = trouble(text)
        if not why:
            return text
        if not again:
            notice("boot failed, once more: %s (log: %s)" % (why, os.path.relpath(log)))
            shutil.copy(log, log + ".first")
    raise RigError("two boots of the User Mode Linux failed: %s; see %s" % (why, log))
