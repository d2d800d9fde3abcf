# SPDX-License-Identifier: GPL-2.0
"""RoCE's packets on the wire: checked by tcpdump and tshark, and every ICRC by zlib."""

import os
import shutil
import socket

from riglib.rping import rping
from vmtest import where, wire
from vmtest.capture import Capture

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
LIMIT = 240

RC = {0x00: "SEND first", 0x01: "SEND middle", 0x02: "SEND last", 0x03: "SEND last imm",
      0x04: "SEND only", 0x05: "SEND only imm", 0x06: "WRITE first", 0x07: "WRITE middle",
      0x08: "WRITE last", 0x09: "WRITE last imm", 0x0a: "WRITE only", 0x0b: "WRITE only imm",
      0x0c: "READ request", 0x0d: "READ response first", 0x0e: "READ response middle",
      0x0f: "READ response last", 0x10: "READ response only", 0x11: "ACK",
      0x12: "ATOMIC ACK", 0x13: "CMP_SWAP", 0x14: "FETCH_ADD"}
UC = {0x20 + code: "UC " + RC[code] for code in range(0x0c)}
UD = {0x64: "UD SEND only", 0x65: "UD SEND only imm"}
INVALIDATE = {0x16: "SEND last inv", 0x17: "SEND only inv"}
ATOMIC_WRITE = {0x1d: "ATOMIC WRITE"}


def _capture_traffic(t, family):
    """Capture in guest b the traffic of all opcodes; returns the file's path on the host."""
    # GRO would show merged packets, not those of the wire.
    t.run(t.b, "ethtool -K eth0 gro off; true")
    capture = Capture(t, t.b, "udp port %d" % wire.PORT)
    cases = "-m 'rc/*/from-server' -m 'uc/*/from-server' -m 'ud/*/from-server' " \
            "-m 'rc/*/both-ways' -m 'mw/type2-send-inv'"
    t.tool("vverify", "-f %s %s" % (family, cases), timeout=150, prefix="ipv%s/" % family)
    address = t.b.address if family == "4" else t.b.address6
    t.pair_run(rping(3, "-s -a " + address), rping(3, "-c -a " + address), port="cm",
               timeout=20)
    path = capture.stop("wire-%s-%s-ipv%s" % (t.lab.device, t.pair, family))
    capture.check_complete("ipv%s: tcpdump lost no packet" % family)
    t.run(t.b, "ethtool -K eth0 gro on; true")
    return path


def run(t):
    for family in "46":
        path = _capture_traffic(t, family)
        seen = wire.Summary(path)
        t.note("ipv%s: %d packets in %s" % (family, seen.packets, os.path.relpath(path, where.TOP)))
        t.case("ipv%s: every ICRC is what zlib computes" % family,
               seen.packets and not seen.wrong, "\n".join(seen.wrong[:12]))
        for guest in t.guests:
            address = guest.address if family == "4" else guest.address6
            source = socket.inet_pton(socket.AF_INET if family == "4" else socket.AF_INET6,
                                      address)
            wanted = dict(RC)
            if t.pair == "tern-tern":
                wanted.update(ATOMIC_WRITE)
            # The client's UC and UD messages all come from b ("from-server").
            if guest is t.b:
                wanted.update(UC)
                wanted.update(UD)
            elif t.lab.driver_of(t.pair, "b") != "rxe":
                wanted.update({0x16: INVALIDATE[0x16]})
            missing = [name for code, name in wanted.items() if not seen.opcodes[source][code]]
            t.case("ipv%s: guest %s sent every opcode" % (family, guest.name), not missing,
                   "missing: " + ", ".join(missing))
        if not shutil.which("tshark"):
            t.skip("tshark", "not on this machine")
            continue
        t.case("ipv%s: tshark finds nothing malformed" % family,
               not (bad := wire.tshark(path, "_ws.malformed", ("frame.number", "infiniband.bth.opcode"))),
               str(bad[:10]))
        ours = sum(sum(counter.values()) for counter in seen.opcodes.values())
        theirs = len(wire.tshark(path, "infiniband.bth"))
        t.case("ipv%s: tshark reads every packet as RoCEv2" % family, ours == theirs,
               "%d of %d" % (theirs, ours))
        fields = wire.tshark(path, "infiniband.bth and (infiniband.bth.tver != 0 or "
                             "infiniband.bth.p_key != 0xffff)")
        t.case("ipv%s: header version and P_Key are right" % family, not fields, str(fields[:5]))
