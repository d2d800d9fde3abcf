# SPDX-License-Identifier: GPL-2.0
"""The kernel's fault injection: allocations that fail, in kernels built for it (debug kernels)."""

_DEBUGFS = "/sys/kernel/debug"


def are_injected(t, guest, kind):
    """Does the guest's kernel inject faults of that kind, such as failslab?"""
    return t.run(guest, "mountpoint -q {0} || mount -t debugfs none {0}; test -d {0}/{1}".format(
        _DEBUGFS, kind)).ok


def _script(names, values):
    """Writes all of them, whatever comes of each; fails if one did."""
    return "cd %s; rc=0; %s; exit $rc" % (_DEBUGFS, "; ".join(
        "echo %s >%s || rc=1" % (value, name) for name, value in zip(names, values)))


def set_up(t, guest, settings):
    """Sets files, such as "failslab/times": -1, in order; t.undo begins with what they said before."""
    names = list(settings)
    old = t.run(guest, "cd %s && cat %s" % (_DEBUGFS, " ".join(names)), check=True).out.split()
    # What was set last, a probability, goes first.
    undo = _script(names[::-1], old[::-1])
    t.undo.insert(0, lambda: guest.run(undo))
    t.run(guest, _script(names, settings.values()), check=True)
