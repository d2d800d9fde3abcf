# SPDX-License-Identifier: GPL-2.0
"""iWARP: 32 processes connect, exchange a message and disconnect, back to back; no object is left."""

from vmtest.storm import run_storm

PAIRS = ("iwarp-iwarp",)
LIMIT = 120


def run(t):
    run_storm(t, 15)
