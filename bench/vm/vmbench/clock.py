# SPDX-License-Identifier: GPL-2.0
"""Do the guests' clocks run at the pace of the host's?

An emulated guest measures its processor's clock against a timer while it boots. On a busy host
that can go wrong, and no program in the guest would notice: all its figures are wrong by as much.
"""

import time

TOLERANCE = 0.03
_LEAST_S, _MOST_S = 4, 30


def _look(guest):
    """(host's time, guest's time, how long asking took), of the quickest of three answers."""
    answers = []
    for _ in range(3):
        before = time.monotonic()
        seconds = float(guest.run("date +%s.%N", timeout=20, check=True).out)
        after = time.monotonic()
        answers.append(((before + after) / 2, seconds, after - before))
    return min(answers, key=lambda answer: answer[2])


def pace(guest):
    """Seconds of the guest in one of the host."""
    host, there, took = _look(guest)
    # Long enough for what is not known of the two moments to be little beside it.
    time.sleep(min(max(_LEAST_S, 60 * took), _MOST_S))
    host_later, there_later, _ = _look(guest)
    return (there_later - there) / (host_later - host)
