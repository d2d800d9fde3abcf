# SPDX-License-Identifier: GPL-2.0
"""Why a guest does not answer: a panic, a hang, or the end of its process, with the evidence.

The kernel's console is a file on the host, so it survives the guest. Guests run with oops=panic and
panic=-1, and QEMU with -no-reboot: a crash ends the QEMU process within a second. A hanging guest gets
an NMI, which makes its kernel print where it is stuck (unknown_nmi_panic) and end in the same way.
User Mode Linux has no NMI: its management console prints where its CPUs are, and then it is killed.
"""

import os
import re
import time

from . import mconsole, qmp, state
from .say import RigError

TAIL_LINES = 45
_SIGNS = ("Kernel panic", "NMI received", "BUG:", "Oops", "general protection", "KASAN",
          "rig-init:", "Unable to handle", "kernel BUG at", "double fault", "watchdog:")


class GuestLost(RigError):
    """A guest is lost. kind: 'panic', 'hang', 'ended' (its process), 'down' (no such rig)."""

    def __init__(self, guest, kind, summary, tail=""):
        self.guest, self.kind, self.summary, self.tail = guest, kind, summary, tail
        text = "guest %s: %s" % (guest, summary)
        if tail:
            text += "\n--- the end of its console ---\n%s\n---" % tail
        super().__init__(text)


def console_text(path, limit=256 * 1024):
    """The last part of a console log, without terminal control codes."""
    try:
        with open(path, "rb") as f:
            f.seek(max(0, os.path.getsize(path) - limit))
            text = f.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc|\r", "", text)


def _tail(text):
    """The relevant end: from the first sign of trouble, otherwise the last lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    for i, line in enumerate(lines):
        if any(sign in line for sign in _SIGNS):
            return "\n".join(lines[max(0, i - 3):][:TAIL_LINES])
    return "\n".join(lines[-TAIL_LINES:])


def _headline(text):
    """The line that names the crash: the first error, not the panic that it led to."""
    for sign in _SIGNS:
        if sign in ("Kernel panic", "NMI received"):
            continue
        for line in text.splitlines():
            if sign in line:
                return re.sub(r"^\[[ 0-9.]*\]\s*", "", line.strip())
    found = re.search(r"Kernel panic - (.*)", text)
    return found.group(0).strip() if found else ""


def of_dead(guest):
    """The GuestLost for a guest whose QEMU process is gone."""
    text = console_text(guest.console_path)
    errors = console_text(guest.path("qemu.log")).strip()
    if "Kernel panic" in text:
        return GuestLost(guest.name, "panic", "kernel panic: " + _headline(text), _tail(text))
    summary = "its process (pid %d) ended" % guest.process.pid
    if errors:
        summary += "; it said: " + errors.splitlines()[-1]
    return GuestLost(guest.name, "ended", summary, _tail(text))


def _inject_nmi(guest):
    """Make a QEMU guest print where it is, and end."""
    with qmp.Monitor(guest.path("qmp"), 5) as monitor:
        monitor.command("inject-nmi")
    deadline = time.monotonic() + 8 * guest.slow
    while time.monotonic() < deadline and state.alive(guest.process):
        time.sleep(0.1)


def _ask_cpus(guest):
    """Make User Mode Linux print what its CPUs do, and which tasks wait."""
    for command in ("sysrq 9", "sysrq l", "sysrq w"):
        mconsole.ask(guest.path("uml/mconsole"), command)
    time.sleep(1)


def of_silent(guest, silence_s):
    """The GuestLost for a guest that runs but has not answered for `silence_s`."""
    before = console_text(guest.console_path)
    proof = ""
    try:
        (_ask_cpus if guest.native else _inject_nmi)(guest)
        text = console_text(guest.console_path)
        proof = text[len(before):] if text.startswith(before) else text
    except (OSError, RigError) as error:
        proof = "(what asks where it is stuck failed: %s)" % error
    if guest.native:
        state.end([guest.process])
    summary = "hung: no sign of life for %.0f s" % silence_s
    where = re.search(r"RIP: ([0-9a-f]+):(\S+)", proof)
    who = re.search(r"CPU: (\d+) (?:UID: \d+ )?PID: (\d+) Comm: (.*?) (Not tainted|Tainted)", proof)
    if guest.native:
        # Its registers are user space's, or missing.
        where = None
        who = re.search(r"(?s)sysrq: CPU(\d+):.*?Pid: (\d+), comm: (.*?) (Not tainted|Tainted)", proof)
    if where and re.match("(pv_)?native_safe_halt|default_idle", where.group(2)):
        summary += ", though its CPU was idle"
    elif where:
        place = "user space" if where.group(1) == "0033" else where.group(2)
        summary += ", stuck in " + place
    if who and who.group(2) != "0":
        summary += " (CPU %s, process %s %s)" % who.group(1, 2, 3)
    tail = "\n".join((before.splitlines()[-8:] + proof.splitlines())[:TAIL_LINES])
    return GuestLost(guest.name, "hang", summary, tail)
