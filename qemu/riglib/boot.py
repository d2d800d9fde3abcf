# SPDX-License-Identifier: GPL-2.0
"""Waiting for a guest's boot, and booting it again.

A guest's reset ends its QEMU, so that a crash is noticed at once. For a requested reboot QEMU is told
to let the machine go on: its disks, its Ethernet and its process stay.
"""

import contextlib
import time

from . import qmp, wire
from .say import RigError, notice

LIMIT_S = 90
SYSTEMD_LIMIT_S = 300

# The boot has ended when its jobs have. Later jobs do not belong to it.
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


def reboot(guest, how):
    """Run `how` in the guest, wait for the reset that it leads to and for the next boot."""
    deadline = time.monotonic() + SYSTEMD_LIMIT_S * guest.slow
    with qmp.Monitor(guest.path("qmp"), 5) as monitor:
        monitor.command("set-action", reboot="reset")
        command = guest.start(how, timeout=SYSTEMD_LIMIT_S)
        try:
            if not monitor.wait_reset(deadline):
                guest.check_alive()
                raise RigError("guest %s did not reboot within %g s of: %s\n%s" % (
                    guest.name, SYSTEMD_LIMIT_S * guest.slow, how, guest.console()[-1500:]))
            command.abandon()
            # The firmware resets the machine a few more times before it boots.
            _wait_answer(guest, time.monotonic() + SYSTEMD_LIMIT_S * guest.slow)
        finally:
            command.abandon()
            # If that fails too, the first error is the reason.
            with contextlib.suppress(RigError, OSError):
                if guest.alive():
                    monitor.command("set-action", reboot="shutdown")
    _wait_systemd(guest)
