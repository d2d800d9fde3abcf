# SPDX-License-Identifier: GPL-2.0
"""Every opcode, size and feature of the verbs with every byte verified, over IPv4."""

PAIRS = ("tt", "tx", "xt")
LIMIT = 400


def run(t):
    t.tool("vverify", "-f 4", timeout=380)
