# SPDX-License-Identifier: GPL-2.0
"""Runs vconform in a guest, on any driver's device. Both of its ends are in one process."""

import fnmatch

from . import tap

# The cases that tern may skip, and why. A skip that is not here is a failure.
_OF_ROCE = (
    # FLUSH is of rdma-core 45, and of Linux 6.2.
    ("*_flush", "this libibverbs is too old"),
    ("*_FLUSH", "this libibverbs is too old"),
    ("*_atomic_write", "this libibverbs is too old"),
    ("*_ATOMIC_WRITE", "this libibverbs is too old"),
    ("Gid.table_of_too_few_entries_is_refused", "only one"),
    ("Limits.*", "not on this machine"),
    ("BAD_RESP_ERR.*", "only forged"),
    ("PortEvent.iWARP_*", "only iWARP has it"),
)
# ib_core refuses its rights there.
_BEFORE_6_2 = (
    ("Wr.RC_flush", "FLUSH: no capability"),
    ("SendOps.RC_FLUSH", "FLUSH: no capability"),
)
_OF_IWARP = (
    ("*", "iWARP: "),
    ("*UC_*", "ibv_create_qp_ex: Operation not supported"),
    ("*UD_*", "ibv_create_qp_ex: Operation not supported"),
    ("*.datagram_*", "ibv_create_qp_ex: Operation not supported"),
    ("Datagram.*", "ibv_create_qp_ex: Operation not supported"),
    ("Multicast.*", "ibv_create_qp_ex: Operation not supported"),
    ("CreateAh.*", "ibv_create_ah: Operation not supported"),
    ("Limits.max_ah_*", "ibv_create_ah: Operation not supported"),
    ("*XRC_*", "ibv_open_xrcd: Operation not supported"),
    ("Xrc*", "ibv_open_xrcd: Operation not supported"),
    ("Open*", "ibv_open_xrcd: Operation not supported"),
    ("OnDemand.*", "memory on demand: no capability"),
    ("AdviseMr.*", "memory on demand: no capability"),
    ("Wr.RC_*", "no capability"),  # FLUSH, ATOMIC WRITE
    ("Gid.table_of_too_few_entries_is_refused", "only one"),
    ("Limits.*", "not on this machine"),
)
# These take long, or a netdev of their own.
APART = "Limits.*:PortEvent.*"

_EXPORTER = "tern_exporter"


def load_exporter(t, guest):
    """The module whose dma-bufs the suite registers; it goes when the test ends."""
    t.lab.push_module(guest, _EXPORTER)
    t.run(guest, "insmod /tern/%s.ko" % _EXPORTER, check=True)
    t.undo.append(lambda: guest.run("rmmod %s; true" % _EXPORTER))


def run(t, guest, args="", timeout=500, netdev="eth0"):
    """The suite's (result, number of planned cases, [Case])."""
    result = t.run(guest, "/tern/vconform -n %s %s" % (netdev, args), timeout)
    plan, cases = tap.parse(result.out)
    return result, plan, cases


def _may_skip(case, allowed):
    return any(fnmatch.fnmatch(case.name, pattern) and reason in case.skipped
               for pattern, reason in allowed)


def check(t, args="", prefix="", iwarp=False, timeout=500, netdev="eth0"):
    """Each of the suite's cases in guest a becomes a case here; returns how many there were."""
    result, plan, cases = run(t, t.a, args, timeout, netdev)
    allowed = _OF_IWARP if iwarp else _OF_ROCE + (_BEFORE_6_2 if t.lab.version < (6, 2) else ())
    for case in cases:
        if case.skipped is None:
            t.case(prefix + case.name, case.ok, case.why)
        elif _may_skip(case, allowed):
            t.skip(prefix + case.name, case.skipped)
        else:
            t.case(prefix + case.name, False, "skipped: " + case.skipped)
    t.case(prefix + "all cases ran", plan and len(cases) == plan, "%d of %d, exit %d\n%s\n%s" % (
        len(cases), plan, result.rc, result.out[-800:], result.err[-800:]))
    return len(cases)
