# SPDX-License-Identifier: GPL-2.0
"""The kernel's fault injection: allocations fail, in kernels built for it (debug kernels)."""

_DEBUGFS = "/sys/kernel/debug"


def are_injected(t, guest, kind):
    """Does the guest's kernel inject faults of that kind, such as failslab?"""
    return t.run(guest, "mountpoint -q {0} || mount -t debugfs none {0}; test -d {0}/{1}".format(
        _DEBUGFS, kind)).ok


def _write_script(names, values):
    """A script that writes all the values. It fails at the end if one write failed."""
    return "cd %s; rc=0; %s; exit $rc" % (_DEBUGFS, "; ".join(
        "echo %s >%s || rc=1" % (value, name) for name, value in zip(names, values)))


def set_up(t, guest, settings):
    """Write files, such as "failslab/times": -1, in order. t.undo restores the old values first."""
    names = list(settings)
    old = t.run(guest, "cd %s && cat %s" % (_DEBUGFS, " ".join(names)), check=True).out.split()
    # The last one set, a probability, is restored first.
    undo = _write_script(names[::-1], old[::-1])
    t.undo.insert(0, lambda: guest.run(undo))
    t.run(guest, _write_script(names, settings.values()), check=True)
