# SPDX-License-Identifier: GPL-2.0
"""perftest: send, write, read and atomics at 2 B, 1 KiB, 64 KiB and 1 MiB, over RC, UC and UD."""

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
# Messages go both ways with either.
LONG_PAIRS = ("rxe-tern",)
LIMIT = 240
SIZES = (2, 1024, 65536, 1 << 20)


def _all_runs():
    for kind, transports in (("send", ("RC", "UC", "UD")), ("write", ("RC", "UC")),
                             ("read", ("RC",))):
        for transport in transports:
            for size in SIZES:
                if transport == "UD" and size > 1024:
                    continue
                # A burst on UC loses what overruns the receiver; there is no retry.
                if kind == "send" and transport == "UC" and size > 65536:
                    continue
                yield "ib_%s_bw" % kind, transport, size
    yield "ib_atomic_bw", "RC", 8
    yield "ib_send_lat", "RC", 2
    yield "ib_write_lat", "RC", 2
    yield "ib_read_lat", "RC", 2
    yield "ib_atomic_lat", "RC", 8


_SENT = "tc -s class show dev eth0 | awk '/^class prio/{getline; print $4}'"


def _count_by_band(t, name, options, devices):
    """How many packets of one run each band of guest a's prio qdisc sent."""
    def bands():
        return [int(word) for word in t.run(t.a, _SENT, check=True).out.split()]

    before = bands()
    command = "ib_write_bw -F -n 300 -s 64 %s" % options
    t.pair_case("ib_write_bw " + name, "%s -d %s" % (command, devices[1]),
                "%s -d %s %s" % (command, devices[0], t.b.address), port=18515, timeout=40)
    return [now - then for now, then in zip(bands(), before)]


def _check_priority(t, devices):
    """Service level and traffic class give packets a priority, which selects the prio band."""
    t.run(t.a, "modprobe sch_prio; tc qdisc replace dev eth0 root handle 1: prio", check=True)
    try:
        for name, options, band in (("with neither", "", 1), ("service level 1", "-S 1", 2),
                                    ("traffic class 16", "--tclass=16", 0)):
            sent = _count_by_band(t, name, options, devices)
            t.case("%s: packets have its priority" % name,
                   len(sent) == 3 and sent[band] >= 300, "by band, wanted in %d: %s"
                   % (band, sent))
    finally:
        t.run(t.a, "tc qdisc del dev eth0 root")


def _check_timers(t, devices):
    """A request that is answered long before its ACK timer expires is not sent again."""
    before = t.counter(t.a, "local_ack_timeout_err")
    # The timer is 1 s: busy hosts seldom stand still for longer.
    command = "ib_write_bw -F -n 200 -s 2 -t 1 -u 18"
    t.pair_case("ib_write_bw RC 2, one by one, a second to answer", "%s -d %s" % (command, devices[1]),
                "%s -d %s %s" % (command, devices[0], t.b.address), port=18515, timeout=60)
    times = t.counter(t.a, "local_ack_timeout_err") - before
    t.case("ACK timers do not expire early", times < 20, "%d did" % times)


def run(t):
    devices = t.dev(t.a), t.dev(t.b)
    for tool, transport, size in _all_runs():
        iterations = 10 if size >= 1 << 20 else 50 if size >= 65536 else 200
        command = "%s -F -n %d%s%s" % (
            tool, iterations, "" if "atomic" in tool else " -s %d" % size,
            " -c %s" % transport if tool[3:8] in ("send_", "write") and transport != "RC" else "")
        if transport == "UC":
            command += " -t 4"
        t.pair_case("%s %s %d" % (tool, transport, size),
                    "%s -d %s" % (command, devices[1]),
                    "%s -d %s %s" % (command, devices[0], t.b.address), port=18515, timeout=40)
    if t.pair == "tern-tern":
        _check_priority(t, devices)
        _check_timers(t, devices)
