# SPDX-License-Identifier: GPL-2.0
"""The speed table of iWARP: beside siw, TCP and tern_roce, at two MTUs, medians of five.

tern_iwarp comes twice: as it is, and without CRCs, which siw and TCP do not have either.
"""

from vmtest import speed

PAIRS = ("ww",)
LONG = True
LIMIT = 3600
ROUNDS = 5
# A subject is a pair of the laboratory, or says below what it is.
SUBJECTS = (("ww", "tern_iwarp"), ("no crc", "no CRC"), ("ss", "siw"), ("tt", "tern_roce"),
            ("tcp", "TCP"))
# Tool, options, column; at least so many times TCP and siw, or (latency) at most.
ROWS = (
    ("ib_write_bw", "-s 65536 -n 1500", 3, 0.7, 1.5),
    ("ib_write_bw", "-s 1048576 -n 90", 3, 0.7, 1.5),
    ("ib_read_bw", "-s 65536 -n 1500", 3, 0.7, 1.5),
    ("ib_read_bw", "-s 1048576 -n 90", 3, 0.7, 1.5),
    ("ib_write_lat", "-s 2 -n 1000", 4, None, 1.1),
)


def _crc(t, wanted):
    for guest in t.guests:
        t.run(guest, "echo %s > /sys/module/tern/parameters/iwarp_crc" % wanted, check=True)


def _runs(t, figures, mtu, subject):
    for tool, options, column, _, _ in ROWS:
        over_cm = "" if subject == "tt" else "-R "
        try:
            value = speed.perftest(t, tool, over_cm + options, column)
        except RuntimeError as error:
            if subject != "ss":
                raise
            # A peer's trouble is no verdict on this driver.
            t.note("siw: " + str(error).strip().splitlines()[-1][:150])
            continue
        figures.add((mtu, tool, options), subject, value)


def _round(t, figures, mtu):
    for subject, _ in SUBJECTS:
        if subject == "tcp":
            figures.add(mtu, "tcp", speed.tcp(t))
            continue
        t.lab.set_up("ww" if subject == "no crc" else subject)
        if subject != "no crc":
            _runs(t, figures, mtu, subject)
            continue
        _crc(t, "N")
        try:
            _runs(t, figures, mtu, subject)
        finally:
            _crc(t, "Y")


def _table(t, figures, mtu):
    t.note("MTU %d, medians of %d; MiB/s, latency in us; TCP's one stream %.4g (%s)" % (
        mtu, ROUNDS, figures.median(mtu, "tcp"), figures.spread(mtu, "tcp")))
    t.note("%-31s %s" % ("", " ".join("%10s" % name for subject, name in SUBJECTS if subject != "tcp")))
    for tool, options, _, of_tcp, of_siw in ROWS:
        row = (mtu, tool, options)
        t.note("%-13s %-17s %s   %s" % (
            tool, options,
            " ".join("%10.4g" % figures.median(row, subject) for subject, _ in SUBJECTS
                     if subject != "tcp"), figures.spread(row, "ww")))
        name = "MTU %d: %s %s" % (mtu, tool, options.split()[1])
        by_siw = figures.ratio(row, "ww", "ss")
        if of_tcp is None:
            t.case("%s is at most %.1f of siw's" % (name, of_siw), by_siw <= of_siw,
                   "ratio %.3f" % by_siw)
            continue
        by_tcp = figures.median(row, "ww") / figures.median(mtu, "tcp")
        t.case("%s is at least %.1f of TCP's" % (name, of_tcp), by_tcp >= of_tcp,
               "ratio %.3f" % by_tcp)
        t.case("%s is at least %.1f of siw's" % (name, of_siw), by_siw >= of_siw,
               "ratio %.3f" % by_siw)


def run(t):
    figures = speed.Figures()
    try:
        for mtu in (1500, 9000):
            for guest in t.guests:
                t.run(guest, "ip link set eth0 mtu %d" % mtu, check=True)
            for _ in range(ROUNDS):
                _round(t, figures, mtu)
    finally:
        for guest in t.guests:
            t.run(guest, "ip link set eth0 mtu 1500")
        t.lab.set_up("ww")
    for mtu in (1500, 9000):
        _table(t, figures, mtu)
