# SPDX-License-Identifier: GPL-2.0
"""netem with loss, duplicates, reordering and corruption: all data arrives intact."""

from vmtest import netem

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern", "iwarp-iwarp")
LONG_PAIRS = ("tern-rxe", "rxe-tern")
LIMIT = 400
MATRIX = {
    "loss": "loss 1%",
    "duplicate": "duplicate 1%",
    "reorder": "delay 2ms reorder 95% 25%",
    "corrupt": "corrupt 0.5%",
}


def run(t):
    try:
        for name, settings in MATRIX.items():
            for guest in t.guests:
                netem.add(t, guest, settings)
            t.tool("vverify", "-m 'rc/*/both-ways' -m rc/flush/mixed -t 60 -s 0x%x" % sum(name.encode()), timeout=180,
                   prefix=name + "/")
    finally:
        for guest in t.guests:
            netem.remove(t, guest)
