# SPDX-License-Identifier: GPL-2.0
"""The rig's output for people: progress lines, notices, and errors with advice.

Progress goes to stderr, so that stdout of `rig run` has only the guest's output.
"""

import os
import sys
import time

_START = time.monotonic()


class RigError(Exception):
    """The rig cannot do something. The text says what, and what to do about it."""


def progress(text):
    """One line, with the seconds since the program started; RIG_QUIET=1 hides it."""
    if os.environ.get("RIG_QUIET", "") not in ("", "0"):
        return
    sys.stderr.write("[%6.1fs] %s\n" % (time.monotonic() - _START, text))
    sys.stderr.flush()


def notice(text):
    """A line that is shown even when progress is hidden."""
    sys.stderr.write("rig: %s\n" % text)
    sys.stderr.flush()
