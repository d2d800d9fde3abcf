# SPDX-License-Identifier: GPL-2.0
"""Waiting for a guest's boot, and booting it again.

A guest's reset ends its QEMU, because that is how crashes are noticed at once. For a reboot that
was asked for, QEMU is told to let the machine go on: its disks, its Ethernet and its process stay
as they are.
"""

import contextlib
import json
import time

from . import state, wire
from .say import RigError, notice

LIMIT_S = 90
SYSTEMD_LIMIT_S = 300

# Over when all jobs of the boot are: what is started later is somebody else's business.
_SETTLED = "case $(systemctl is-system-running) in running | degraded) ;; *) exit 1 ;; esac"


def wait(guest, deadline):
    """Wait until the guest answers and, if it runs systemd, has booted to the end."""
    _wait_answer(guest, deadline)
    if guest.systemd:
        _wait_systemd(guest)


def _wait_answer(guest, deadline):
    wire.Channel.open(guest, max(1.0, deadline - time.monotonic())).close(clean=True)


def _wait_systemd(guest):
    guest.wait_until(_SETTLED, timeout=SYSTEMD_LIMIT_S, every=1)
    failed = guest.run("systemctl --failed --plain --no-legend | cut -d' ' -f1").out.split()
    if failed:
        notice("guest %s: failed at boot: %s" % (guest.name, " ".join(failed)))


class _Monitor:
    """A conversation with QEMU that listens for events too; commands as in trouble.monitor()."""

    def __init__(self, path, limit_s):
        self._sock = state.connect(path, limit_s)
        self._stream = self._sock.makefile("rwb")
        self._stream.readline()
        self.command("qmp_capabilities")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._sock.close()

    def _next(self):
        try:
            line = self._stream.readline()
        except OSError:
            line = b""
        return json.loads(line) if line else None

    def command(self, name, **arguments):
        """Send a command and wait for its answer."""
        request = {"execute": name, "arguments": arguments}
        self._stream.write(json.dumps(request).encode() + b"\n")
        self._stream.flush()
        while True:
            answer = self._next()
            if answer is None or "error" in answer:
                raise RigError("QEMU's monitor: %s: %s" % (
                    name, answer["error"].get("desc") if answer else "no answer"))
            if "return" in answer:
                return

    def wait_reset(self, deadline):
        """Wait until the guest resets its machine; False if it does not."""
        while time.monotonic() < deadline:
            self._sock.settimeout(max(0.1, deadline - time.monotonic()))
            answer = self._next()
            if answer is None:
                return False
            if answer.get("event") == "RESET" and answer["data"].get("guest"):
                return True
        return False


def reboot(guest, how):
    """Run `how` in the guest, wait for the reset that it leads to and for the next boot."""
    deadline = time.monotonic() + SYSTEMD_LIMIT_S * guest.slow
    with _Monitor(guest.path("qmp"), 5) as monitor:
        monitor.command("set-action", reboot="reset")
        command = guest.start(how, timeout=SYSTEMD_LIMIT_S)
        try:
            if not monitor.wait_reset(deadline):
                guest.check_alive()
                raise RigError("guest %s did not reboot within %g s of: %s\n%s" % (
                    guest.name, SYSTEMD_LIMIT_S * guest.slow, how, guest.console()[-1500:]))
            command.abandon()
            # The firmware resets the machine some times more before it goes on.
            _wait_answer(guest, time.monotonic() + LIMIT_S * guest.slow)
        finally:
            command.abandon()
            # If that fails too, what is said already is the reason.
            with contextlib.suppress(RigError, OSError):
                if guest.alive():
                    monitor.command("set-action", reboot="shutdown")
    _wait_systemd(guest)
