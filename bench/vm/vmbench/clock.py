# SPDX-License-Identifier: GPL-2.0
"""Do the guests' clocks run as fast as the host's?

An emulated guest calibrates its processor's clock with a timer while it boots. On a busy host the
result can be wrong. No program in the guest notices: all its figures are wrong by that factor.
"""

import time

TOLERANCE = 0.03
_LEAST_S, _MOST_S = 4, 30


def _look(guest):
    """(host's time, guest's time, how long the question took), of the fastest of three answers."""
    answers = []
    for _ in range(3):
        before = time.monotonic()
        seconds = float(guest.run("date +%s.%N", timeout=20, check=True).out)
        after = time.monotonic()
        answers.append(((before + after) / 2, seconds, after - before))
    return min(answers, key=lambda answer: answer[2])


def pace(guest):
    """Seconds of the guest per second of the host."""
    host, there, took = _look(guest)
    # Much longer than the uncertainty of the two times.
    time.sleep(min(max(_LEAST_S, 60 * took), _MOST_S))
    host_later, there_later, _ = _look(guest)
    return (there_later - there) / (host_later - host)
