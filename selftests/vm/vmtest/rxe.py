# SPDX-License-Identifier: GPL-2.0
"""Faults of the kernel's rxe that cases meet when rxe is at one end.

Such a failure is not tern's, and is reported as skipped with its reason. If the case passes, it
counts as passed. `run --device rxe` is the control: rxe at both ends.
"""

import fnmatch

# The second word is rxe's side: "server", "client", or "any". The first list was seen with 6.1, the
# second with the kernel named there, and not with 6.1.
_FAULTS = (
    ("mw/type1", "server", "checks the region's bounds instead of the window's"),
    ("mw/type2*", "server", "checks the region's bounds, not the window's; kernel's flag "
                            "bit for an invalidated key in user completions"),
    ("mw/type2-qp-destroyed", "any", "flushes a bind after a QP was destroyed that had windows"),
    ("mr/zero-based", "server", "ignores IBV_ACCESS_ZERO_BASED"),
    ("local/send-bad-key", "client", "reports a local protection error as QP operation error"),
    ("local/other-pd", "client", "reports a local protection error as QP operation error"),
    ("local/flush-order", "client", "posts after the error are not flushed"),
    ("local/refused-behind-*", "client", "drops the requests before it; reports a local "
                                         "protection error as QP operation error"),
    ("local/refused-posts", "any", "sends are not flushed"),
    ("remote/receive-*", "server", "reports every receive error as QP operation error"),
    ("remote/late-receive", "client", "its retry timer runs while it waits after an RNR NAK"),
    ("remote/responder-event", "server", "raises no event"),
    ("state/sqd-drains", "client", "does not go on after SQD"),
    ("event/last-wqe-reached", "any", "raises no event"),
)


_LATER_FAULTS = (
    ((6, 12), "cq/solicited", "server", "raises no event for a flushed receive"),
    ((6, 12), "mckey", "client", "completes sends to a group without a packet, now and then; "
                                 "sent_pkts grows by 1 for 5 sends"),
)


def fault(name, client_is_rxe, server_is_rxe, version):
    """Why this case may fail with rxe of that kernel, such as (6, 12), or None."""
    known = list(_FAULTS) + [(pattern, side, "since %d.%d at the latest: %s" % (*since, why))
                             for since, pattern, side, why in _LATER_FAULTS if version >= since]
    for pattern, side, why in known:
        if fnmatch.fnmatch(name, pattern):
            if (side in ("client", "any") and client_is_rxe) or \
                    (side in ("server", "any") and server_is_rxe):
                return "rxe: " + why
    return None
