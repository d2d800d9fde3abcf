# SPDX-License-Identifier: GPL-2.0
"""The processes that the rig has started and must end, recorded by pid *and* start time.

Another process may have the same pid later, but not with the same start time. Processes are never
looked up by name.
"""

import json
import os
import signal
import socket
import time
from typing import NamedTuple

from . import paths
from .say import RigError

RECORD = "rig.json"


class Process(NamedTuple):
    """One process, identified for good: `start` is field 22 of /proc/PID/stat."""
    pid: int
    start: int


def identify(pid):
    """The process that now has a pid, or None."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
    except OSError:
        return None
    # A zombie has released everything.
    return None if fields[0] in (b"Z", b"X") else Process(pid, int(fields[19]))


def alive(process):
    """Is this process, and no other with its pid, still running?"""
    return identify(process.pid) == process


def end(processes, patience_s=2.0):
    """SIGTERM, then SIGKILL; returns the processes that still run (normally none)."""
    left = [p for p in processes if alive(p)]
    for sig, limit_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 10)):
        for process in left:
            try:
                os.kill(process.pid, sig)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + limit_s
        while left and time.monotonic() < deadline:
            for process in left:
                try:  # our own children stay zombies until they are reaped
                    os.waitpid(process.pid, os.WNOHANG)
                except ChildProcessError:
                    pass
            left = [p for p in left if alive(p)]
            if left:
                time.sleep(0.02)
    return left


def save(name, record):
    """Replace the record of a rig atomically."""
    path = os.path.join(paths.run_dir(name), RECORD)
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1)
    os.rename(path + ".new", path)


def load(name):
    """The record of a rig, or None when there is none."""
    try:
        with open(os.path.join(paths.run_dir(name), RECORD), encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def names():
    """The rigs that have a folder, running or not."""
    try:
        return sorted(n for n in os.listdir(paths.RUN) if os.path.isdir(paths.run_dir(n)))
    except OSError:
        return []


def connect(path, limit_s):
    """Connect to a unix socket whose path may be longer than the 107 bytes of sun_path."""
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(limit_s)
        sock.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    except OSError as error:
        sock.close()
        raise RigError("cannot reach %s: %s" % (path, error.strerror or error)) from None
    finally:
        os.close(folder)
    return sock
