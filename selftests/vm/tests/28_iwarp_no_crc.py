# SPDX-License-Identifier: GPL-2.0
"""iWARP, tern with siw, no CRCs at either end: perftest's bandwidth programs."""

from vmtest import crc

PAIRS = ("iwarp-siw", "siw-iwarp")
LONG = True
LIMIT = 300


def run(t):
    t.undo = [lambda: crc.ask(t, True, True)]
    crc.ask(t, False, False)
    for kind in ("send", "write", "read"):
        for size in (2, 4096, 65536, 1 << 20):
            command = "ib_%s_bw -R -F -n %d -s %d -d " % (kind, 20 if size >= 1 << 20 else 200,
                                                          size)
            t.pair_case("ib_%s_bw %d" % (kind, size), command + t.dev(t.b),
                        "%s%s %s" % (command, t.dev(t.a), t.b.address), port=18515, timeout=40)
