# SPDX-License-Identifier: GPL-2.0
"""KVM or emulation? Decided by a test boot, not by whether /dev/kvm exists.

On some hosts (nested, or restricted) the device opens and the guest then hangs in early
boot. So a kernel is booted to its first process with a time limit, and the verdict is
kept for a day, as long as the host is not rebooted. RIG_ACCEL=tcg or =kvm overrides it.
"""

import json
import os
import subprocess
import time

from . import machine, paths
from .say import RigError, notice, progress

_LIMIT_S = 6
_KEEP_S = 24 * 3600


def _boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return f.read().strip()


def _boots(images):
    """Does a guest reach its first process under KVM within the limit?"""
    argv = machine.base("kvm") + [
        "-m", "256M", "-kernel", images["kernel"], "-initrd", images["initrd"],
        "-append", "console=ttyS0 panic=-1 RIG_PROBE=1 loglevel=4", "-serial", "stdio"]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return b"rig-init: probe-ok" in done.stdout


def choose(images):
    """'kvm' or 'tcg'."""
    forced = os.environ.get("RIG_ACCEL", "")
    if forced:
        if forced not in ("kvm", "tcg"):
            raise RigError("RIG_ACCEL is %r; it can be kvm or tcg" % forced)
        return forced
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    path = os.path.join(paths.BUILD, "kvm-verdict.json")
    # If permissions or the module change, the device node changes, and the test is repeated.
    key = [_boot_id(), os.stat("/dev/kvm").st_ctime_ns]
    with paths.locked("kvm", limit_s=60):
        try:
            with open(path, encoding="ascii") as f:
                known = json.load(f)
            if known["key"] == key and 0 <= time.time() - known["when"] < _KEEP_S:
                return known["accel"]
        except (OSError, ValueError, KeyError):
            pass
        progress("trying KVM with a short boot (at most %d s, once a day)" % _LIMIT_S)
        accel = "kvm" if _boots(images) else "tcg"
        with open(path, "w", encoding="ascii") as f:
            json.dump({"key": key, "when": time.time(), "accel": accel}, f)
    if accel == "tcg":
        notice("/dev/kvm is there but no guest boots with it: using emulation (TCG)")
    return accel
