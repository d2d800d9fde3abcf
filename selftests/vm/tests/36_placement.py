# SPDX-License-Identifier: GPL-2.0
"""Programs that poll for messages in memory, with the module's parameter in_order."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 120


def _load(t, options):
    for guest in t.guests:
        driver = t.lab.driver_of(t.pair, guest.name)
        t.lab.unload(guest, driver)
        t.run(guest, "modprobe -a $(modinfo -F depends /tern/tern.ko | tr , ' ') && "
              "insmod /tern/tern.ko " + options, check=True)
        t.lab.add_link(guest, driver)


def run(t):
    t.undo = [lambda: _load(t, "")]
    _load(t, "in_order=1")
    t.tool("vverify", "-m 'rc/poll-*'", timeout=60)
    t.tool("vverify", "-m 'rc/poll-*'", timeout=60, prefix="same-host/", at=t.a)
    t.undo_now()
