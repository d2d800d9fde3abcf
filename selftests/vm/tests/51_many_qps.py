# SPDX-License-Identifier: GPL-2.0
"""A thousand QPs are connected and used at once."""

LIMIT = 300


def run(t):
    t.tool("vverify", "-m scale/qps -N 1000 -t 120", timeout=280)
