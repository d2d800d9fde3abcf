# SPDX-License-Identifier: GPL-2.0
"""The speed table of iWARP: siw, TCP and tern_roce beside it, two MTUs, medians of five rounds.

tern_iwarp is measured with CRCs and without, as siw and TCP have none. siw is slow and moves a fifth
of the messages. Figures are printed as they are measured. All programs sleep: programs that poll on
one CPU would measure the scheduler. So all use SEND: the server of a WRITE or READ polls until
rdma_cm's message at the end.
"""

from vmtest import speed

PAIRS = ("iwarp-iwarp",)
LONG = True
LIMIT = 3600
ROUNDS = 5
# A subject is a pair of the laboratory, or has its own code below.
SUBJECTS = (("iwarp-iwarp", "tern_iwarp"), ("tcp", "TCP"), ("no crc", "no CRC"), ("siw-siw", "siw"),
            ("tern-tern", "tern_roce"))
# Tool, bytes, messages, column; the least ratio to TCP and to siw, or (latency) the largest.
ROWS = (
    ("ib_send_bw", 65536, 1500, 3, 0.7, 1.5),
    ("ib_send_bw", 1048576, 90, 3, 0.7, 1.5),
    ("ib_send_lat", 2, 3000, 4, None, 1.1),
)


def _set_crc(t, wanted):
    for guest in t.guests:
        t.run(guest, "echo %s > /sys/module/tern/parameters/iwarp_crc" % wanted, check=True)


def _run_row(t, subject, row):
    tool, size, times, column, of_tcp = row[:5]
    if subject == "siw-siw" and of_tcp:
        times //= 5
    options = "-s %d -n %d -e" % (size, times)
    if subject != "tern-tern":
        options += " -R"
    try:
        return speed.perftest(t, tool, options, column)
    except RuntimeError as error:
        if subject != "siw-siw":
            raise
        # A failure of siw is no failure of this driver.
        t.note("siw: " + str(error).strip().splitlines()[-1][:150])
        return None


def _run_rows(t, figures, mtu, subject):
    values = []
    for row in ROWS:
        # A busy host disturbs latency most: three samples a round.
        for _ in range(1 if row[4] else 3):
            values.append(_run_row(t, subject, row))
            if values[-1] is not None:
                figures.add((mtu, row), subject, values[-1])
    return values


def _run_round(t, figures, mtu):
    for subject, name in SUBJECTS:
        if subject == "tcp":
            values = [speed.tcp(t, 4)]
            figures.add((mtu, "tcp"), subject, values[0])
        elif subject == "no crc":
            t.lab.set_up("iwarp-iwarp")
            _set_crc(t, "N")
            try:
                values = _run_rows(t, figures, mtu, subject)
            finally:
                _set_crc(t, "Y")
        else:
            t.lab.set_up(subject)
            values = _run_rows(t, figures, mtu, subject)
        t.note("MTU %d, %s: %s" % (mtu, name, " ".join("-" if value is None else "%.4g" % value
                                                       for value in values)))


def _print_table(t, figures, mtu):
    tcp = (mtu, "tcp")
    columns = [(subject, name) for subject, name in SUBJECTS if subject != "tcp"]
    t.note("MTU %d, medians of %d; MiB/s, latency in us; TCP's one stream %.4g (%s)" % (
        mtu, ROUNDS, figures.median(tcp, "tcp"), figures.spread(tcp, "tcp")))
    t.note("%-21s %s" % ("", " ".join("%10s" % name for _, name in columns)))
    for row in ROWS:
        tool, size, _, _, of_tcp, of_siw = row
        t.note("%-13s %7d %s   %s" % (
            tool, size,
            " ".join("%10.4g" % figures.median((mtu, row), subject) for subject, _ in columns),
            figures.spread((mtu, row), "iwarp-iwarp")))
        name = "MTU %d: %s of %d bytes" % (mtu, tool, size)
        by_siw = figures.ratio((mtu, row), "iwarp-iwarp", "siw-siw")
        if of_tcp is None:
            t.case("%s takes at most %.1f of siw's time" % (name, of_siw), by_siw <= of_siw,
                   "ratio %.3f" % by_siw)
            continue
        by_tcp = figures.median((mtu, row), "iwarp-iwarp") / figures.median(tcp, "tcp")
        t.note("%28s %.2f of TCP, %.2f of siw" % ("", by_tcp, by_siw))
        t.case("%s is at least %.1f of TCP" % (name, of_tcp), by_tcp >= of_tcp,
               "ratio %.3f" % by_tcp)
        t.case("%s is at least %.1f of siw" % (name, of_siw), by_siw >= of_siw,
               "ratio %.3f" % by_siw)


def run(t):
    figures = speed.Figures()
    try:
        for mtu in (1500, 9000):
            for guest in t.guests:
                t.run(guest, "ip link set eth0 mtu %d" % mtu, check=True)
            for _ in range(ROUNDS):
                _run_round(t, figures, mtu)
    finally:
        for guest in t.guests:
            t.run(guest, "ip link set eth0 mtu 1500")
        t.lab.set_up("iwarp-iwarp")
    for mtu in (1500, 9000):
        _print_table(t, figures, mtu)
