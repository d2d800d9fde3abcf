# SPDX-License-Identifier: GPL-2.0
"""Each error gives exactly its status, event or errno. The QP state machine."""

LIMIT = 240


def run(t):
    t.tool("verrors", "-t 10 -x 'rnic/*'", timeout=220)
    t.tool("verrors", "-t 10 -m 'remote/*' -m 'local/*' -m 'placement/*'", timeout=100,
           prefix="same-host/", at=t.a)
