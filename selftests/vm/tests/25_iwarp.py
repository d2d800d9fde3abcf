# SPDX-License-Identifier: GPL-2.0
"""iWARP, tern with tern and with siw: librdmacm's programs, and perftest over rdma_cm."""

from riglib.rping import rping

PAIRS = ("iwarp-iwarp", "iwarp-siw", "siw-iwarp")
LIMIT = 300
SIZES = (2, 1024, 65536, 1 << 20)
# IW_UNSENT_BYTES, plus the pages that one send may add below that limit.
UNSENT_MOST = (256 << 10) + 4 * (32 << 10)
UNSENT_SAMPLES = 3

# Prints how much perftest's connections have written and not sent, until /tmp/watched exists.
_WATCH = """for i in $(seq 2000); do
    ss -tinH '( sport = :18515 or dport = :18515 )'
    if [ -e /tmp/watched ]; then break; fi
done | grep -o 'notsent:[0-9]*'"""


def _run_perftest(t):
    devices = t.dev(t.a), t.dev(t.b)
    cases = [("ib_%s_bw" % kind, size) for kind in ("send", "write", "read") for size in SIZES]
    cases += [("ib_%s_lat" % kind, 2) for kind in ("send", "write", "read")]
    if t.pair == "iwarp-iwarp":
        # siw has no atomics
        cases += [("ib_atomic_bw", 8), ("ib_atomic_lat", 8)]
    for tool, size in cases:
        command = "%s -R -F -n %d%s" % (tool, 10 if size >= 1 << 20 else 50,
                                        "" if "atomic" in tool else " -s %d" % size)
        t.pair_case("%s %d" % (tool, size), "%s -d %s" % (command, devices[1]),
                    "%s -d %s %s" % (command, devices[0], t.b.address), port=18515, timeout=40)


def _check_unsent(t):
    """A bulk stream, in either direction, writes little to TCP that TCP has not begun to send."""
    for tool, sender in (("ib_write_bw", t.a), ("ib_read_bw", t.b)):
        seen = []
        for _ in range(3):
            t.run(sender, "rm -f /tmp/watched", check=True)
            watch = t.start(sender, _WATCH, 60)
            command = "%s -R -F -s 1048576 -n 100 -d " % tool
            t.pair_run(command + t.dev(t.b), command + t.dev(t.a) + " " + t.b.address,
                       port=18515, timeout=40)
            t.run(sender, "touch /tmp/watched", check=True)
            seen += [int(line.split(":")[1]) for line in watch.wait().out.split()]
            if len(seen) >= UNSENT_SAMPLES:
                break
        t.note("%s: unsent bytes seen %d times, %d at most" % (
            tool, len(seen), max(seen or [0])))
        t.case("%s: unsent bytes are bounded" % tool, seen and max(seen) <= UNSENT_MOST, seen)


def run(t):
    host, host6 = t.b.address, t.b.address6
    if t.pair == "iwarp-iwarp":
        t.check_run("the device is an RNIC", t.a, "ibv_devinfo | grep -q 'transport:.*iWARP'")
    for name, count, options, address in (("ipv4", 20, "", host), ("ipv6", 20, "", host6),
                                          ("60000 bytes", 10, "-S 60000 ", host)):
        t.pair_case("rping " + name, rping(count, "-s %s-a %s" % (options, address)),
                    rping(count, "-c %s-a %s" % (options, address)), port="cm")
    t.pair_case("ucmatose", "ucmatose -c 5 -C 10 -S 4096",
                "ucmatose -c 5 -C 10 -S 4096 -s " + host, port="cm")
    t.pair_case("rdma_client and rdma_server", "rdma_server", "rdma_client -s " + host,
                port="cm")
    _run_perftest(t)
    if t.pair == "iwarp-iwarp":
        _check_unsent(t)
