# SPDX-License-Identifier: GPL-2.0
"""RoCE's packets on the wire: checked by tcpdump and tshark, and every ICRC by zlib."""

import os
import shutil
import socket

from riglib.rping import rping
from vmtest import cm_roce, where, wire
from vmtest.capture import Capture

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
# Messages go both ways with either.
LONG_PAIRS = ("rxe-tern",)
LIMIT = 330

RC = {0x00: "SEND first", 0x01: "SEND middle", 0x02: "SEND last", 0x03: "SEND last imm",
      0x04: "SEND only", 0x05: "SEND only imm", 0x06: "WRITE first", 0x07: "WRITE middle",
      0x08: "WRITE last", 0x09: "WRITE last imm", 0x0a: "WRITE only", 0x0b: "WRITE only imm",
      0x0c: "READ request", 0x0d: "READ response first", 0x0e: "READ response middle",
      0x0f: "READ response last", 0x10: "READ response only", 0x11: "ACK",
      0x12: "ATOMIC ACK", 0x13: "CMP_SWAP", 0x14: "FETCH_ADD"}
UC = {0x20 + code: "UC " + RC[code] for code in range(0x0c)}
UD = {0x64: "UD SEND only", 0x65: "UD SEND only imm"}
INVALIDATE = {0x16: "SEND last inv", 0x17: "SEND only inv"}
RESPONSES = range(0x0d, 0x13)
# Requests go from a to b.
XRC_CASES = ("send", "send_imm", "write", "write_imm", "read", "cmp_swap", "fetch_add",
             "send-invalidate")
XRC_REQUESTS = {0xa0 + code: "XRC " + name for code, name in RC.items() if code not in RESPONSES}
XRC_REQUESTS[0xa0 + 0x17] = "XRC " + INVALIDATE[0x17]
XRC_RESPONSES = {0xa0 + code: "XRC " + RC[code] for code in RESPONSES}
ATOMIC_WRITE = {0x1d: "ATOMIC WRITE"}


# Of packets: the options of vverify, tcpdump's filter, the source of a guest's.
KINDS = {
    "ipv4": ("-f 4", "udp port %d" % wire.PORT,
             lambda guest: socket.inet_pton(socket.AF_INET, guest.address)),
    "ipv6": ("-f 6", "udp port %d" % wire.PORT,
             lambda guest: socket.inet_pton(socket.AF_INET6, guest.address6)),
    "v1": ("-f 4 -r 1", "ether proto %d" % wire.ETHERTYPE,
           lambda guest: socket.inet_pton(socket.AF_INET6, "::ffff:" + guest.address)),
}


def _capture_traffic(t, kind):
    """Capture in guest b the traffic of all opcodes; returns the file's path on the host."""
    options, wanted, _ = KINDS[kind]
    # GRO would show merged packets, not those of the wire.
    t.run(t.b, "ethtool -K eth0 gro off; true")
    capture = Capture(t, t.b, wanted)
    cases = "-m 'rc/*/from-server' -m 'uc/*/from-server' -m 'ud/*/from-server' " \
            "-m 'rc/*/both-ways' -m 'mw/type2-send-inv'"
    if t.pair == "tern-tern":
        cases += "".join(" -m xrc/" + name for name in XRC_CASES)
    t.tool("vverify", "%s %s" % (options, cases), timeout=150, prefix=kind + "/")
    address = t.b.address6 if kind == "ipv6" else t.b.address
    t.pair_run(rping(3, "-s -a " + address), rping(3, "-c -a " + address), port="cm",
               timeout=20)
    path = capture.stop("wire-%s-%s-%s" % (t.lab.device, t.pair, kind))
    capture.check_complete("%s: tcpdump lost no packet" % kind)
    t.run(t.b, "ethtool -K eth0 gro on; true")
    return path


def _kinds(t):
    """Those that both ends speak, with rdma_cm set to each."""
    yield from ("ipv4", "ipv6")
    if t.pair == "tern-tern" and t.is_tern:
        t.case("rdma_cm can begin with RoCEv1", cm_roce.use(t, cm_roce.V1))
        try:
            yield "v1"
        finally:
            cm_roce.use(t, cm_roce.V2)


def run(t):
    for kind in _kinds(t):
        path = _capture_traffic(t, kind)
        seen = wire.Summary(path)
        t.note("%s: %d packets in %s" % (kind, seen.packets, os.path.relpath(path, where.TOP)))
        t.case("%s: every ICRC is what zlib computes" % kind,
               seen.packets and not seen.wrong, "\n".join(seen.wrong[:12]))
        for guest in t.guests:
            source = KINDS[kind][2](guest)
            wanted = dict(RC)
            if t.pair == "tern-tern":
                wanted.update(ATOMIC_WRITE)
            # The client's UC and UD messages all come from b ("from-server").
            if guest is t.b:
                wanted.update(UC)
                wanted.update(UD)
            elif t.lab.driver_of(t.pair, "b") != "rxe":
                wanted.update({0x16: INVALIDATE[0x16]})
            if t.pair == "tern-tern":
                wanted.update(XRC_REQUESTS if guest is t.a else XRC_RESPONSES)
            missing = [name for code, name in wanted.items() if not seen.opcodes[source][code]]
            t.case("%s: guest %s sent every opcode" % (kind, guest.name), not missing,
                   "missing: " + ", ".join(missing))
        if not shutil.which("tshark"):
            t.skip("tshark", "not on this machine")
            continue
        t.case("%s: tshark finds nothing malformed" % kind,
               not (bad := wire.tshark(path, "_ws.malformed", ("frame.number", "infiniband.bth.opcode"))),
               str(bad[:10]))
        ours = sum(sum(counter.values()) for counter in seen.opcodes.values())
        theirs = len(wire.tshark(path, "infiniband.bth"))
        t.case("%s: tshark reads every packet as RoCE" % kind, ours == theirs,
               "%d of %d" % (theirs, ours))
        fields = wire.tshark(path, "infiniband.bth and (infiniband.bth.tver != 0 or "
                             "infiniband.bth.p_key != 0xffff)")
        t.case("%s: header version and P_Key are right" % kind, not fields, str(fields[:5]))
