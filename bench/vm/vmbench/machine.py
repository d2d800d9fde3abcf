# SPDX-License-Identifier: GPL-2.0
"""machine.json describes the machine of the figures, without names of hosts or users."""

import json
import os
import platform
import re
import subprocess
import time

from riglib import tool
from vmtest import where


def _first(pattern, text):
    found = re.search(pattern, text)
    return found.group(1).strip() if found else "?"


def _output(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=30, check=False)
    return done.stdout.strip()


def load_average():
    """Of the last minute. The guests alone make about 2."""
    return "%.2f" % os.getloadavg()[0]


def describe():
    """An ordered dictionary of texts."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        cpuinfo = f.read()
    qemu = _output([tool.find("qemu-system-x86_64"), "--version"])
    return {
        "tern": _output(["git", "-C", where.TOP, "describe", "--tags", "--always", "--dirty"])
                or "?",
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "CPU": _first(r"model name\s*:\s*(.*)", cpuinfo),
        "cores": str(len(os.sched_getaffinity(0))),
        "host kernel": platform.release(),
        "QEMU": _first(r"version (\S+)", qemu),
        "load before": load_average(),
    }


def save(facts, path):
    """Into the file."""
    with open(path, "w", encoding="utf-8") as f:
        json.dump(facts, f, indent=1)
        f.write("\n")


def load(path):
    """What save() wrote, or nothing without the file."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError:
        return {}
