# SPDX-License-Identifier: GPL-2.0
"""iWARP, with itself and with siw: the programs of librdmacm, perftest over rdma_cm."""

from riglib.rping import rping

PAIRS = ("ww", "ws", "sw")
LIMIT = 300
SIZES = (2, 1024, 65536, 1 << 20)


def _perftest(t):
    devices = t.dev(t.a), t.dev(t.b)
    cases = [("ib_%s_bw" % kind, size) for kind in ("send", "write", "read") for size in SIZES]
    cases += [("ib_%s_lat" % kind, 2) for kind in ("send", "write", "read")]
    if t.pair == "ww":
        # siw has no atomics
        cases += [("ib_atomic_bw", 8), ("ib_atomic_lat", 8)]
    for tool, size in cases:
        command = "%s -R -F -n %d%s" % (tool, 10 if size >= 1 << 20 else 50,
                                        "" if "atomic" in tool else " -s %d" % size)
        t.pair_case("%s %d" % (tool, size), "%s -d %s" % (command, devices[1]),
                    "%s -d %s %s" % (command, devices[0], t.b.address), port=18515, timeout=40)


def run(t):
    host, host6 = t.b.address, t.b.address6
    if t.pair == "ww":
        t.check_run("the device is an RNIC", t.a, "ibv_devinfo | grep -q 'transport:.*iWARP'")
    for name, count, options, address in (("ipv4", 20, "", host), ("ipv6", 20, "", host6),
                                          ("60000 bytes", 10, "-S 60000 ", host)):
        t.pair_case("rping " + name, rping(count, "-s %s-a %s" % (options, address)),
                    rping(count, "-c %s-a %s" % (options, address)), port="cm")
    t.pair_case("ucmatose", "ucmatose -c 5 -C 10 -S 4096",
                "ucmatose -c 5 -C 10 -S 4096 -s " + host, port="cm")
    t.pair_case("rdma_client and rdma_server", "rdma_server", "rdma_client -s " + host,
                port="cm")
    _perftest(t)
