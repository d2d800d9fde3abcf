# SPDX-License-Identifier: GPL-2.0
"""Traffic within a host in tcpdump: with the switch `local` off `lo` has it as packets, else none."""

import collections

from vmtest import wire
from vmtest.capture import Capture

LIMIT = 240
# Of packets: the options of vverify, and tcpdump's filter.
KINDS = {
    "ipv4": ("-f 4", "udp port %d" % wire.PORT),
    "ipv6": ("-f 6", "udp port %d" % wire.PORT),
    "v1": ("-f 4 -r 1", "ether proto %d" % wire.ETHERTYPE),
}
# The cases, and the opcodes that none of them can do without.
CASES = "-m rc/send -m rc/write -m rc/read -m rc/fetch_add -m uc/send -m ud/send"
OPCODES = {0x04: "SEND only", 0x0a: "WRITE only", 0x0c: "READ request", 0x0d: "READ response first",
           0x0f: "READ response last", 0x11: "ACK", 0x12: "ATOMIC ACK", 0x14: "FETCH_ADD",
           0x24: "UC SEND only", 0x64: "UD SEND only"}


def _capture_cases(t, kind, cases, prefix):
    options, wanted = KINDS[kind]
    capture = Capture(t, t.a, wanted, "lo")
    t.tool("vverify", "%s %s" % (options, cases), timeout=100, prefix=prefix, at=t.a)
    path = capture.stop("local-" + kind)
    capture.check_complete(prefix + "tcpdump lost no packet")
    return wire.Summary(path)


def run(t):
    if not t.is_tern:
        t.skip("local", "the switch is tern's")
        return
    switch = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    features = "ethtool -K lo tx-gso-list %s tx-udp-segmentation %s"
    t.undo = [lambda: t.run(t.a, "echo Y >%s; %s" % (switch, features % ("on", "on")))]
    # Datagrams and groups go as packets now and then.
    seen = _capture_cases(t, "ipv4", "-m rc/send -m rc/write -m rc/read", "copied: ")
    t.case("copied: lo has none of it", not seen.packets, seen.packets)
    t.run(t.a, "echo N >%s && %s" % (switch, features % ("off", "off")), check=True)
    for kind in KINDS:
        seen = _capture_cases(t, kind, CASES, kind + "/")
        opcodes = sum(seen.opcodes.values(), collections.Counter())
        missing = [name for code, name in OPCODES.items() if not opcodes[code]]
        t.note("%s: %d packets" % (kind, seen.packets))
        t.case(kind + ": requests and answers are there", not missing, "missing: %s" % missing)
        t.case(kind + ": every ICRC is what zlib computes", not seen.wrong,
               "\n".join(seen.wrong[:12]))
    t.undo_now()
    seen = _capture_cases(t, "ipv4", "-m rc/send -m rc/write -m rc/read", "copied again: ")
    t.case("copied again: lo has none of it", not seen.packets, seen.packets)
