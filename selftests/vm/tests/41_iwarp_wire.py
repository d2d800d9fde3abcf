# SPDX-License-Identifier: GPL-2.0
"""iWARP's FPDUs on the wire: checked by tcpdump and tshark, and every CRC by a table."""

import collections
import os
import shutil
import socket

from riglib.rping import rping
from vmtest import fpdu, where, wire
from vmtest.capture import Capture

PAIRS = ("iwarp-iwarp",)
LIMIT = 180


def _run_traffic(t, family, address):
    """Move every kind of message and frame, long and short."""
    for options in ("-e kinds", "-n 3 -z", "-n 10 -z -b 3000 -r 2", "-e reject"):
        command = "/tern/viwarp " + options
        t.pair_case("ipv%s: viwarp %s" % (family, options), "%s -l %s" % (command, address),
                    "%s %s" % (command, address), port=7471)
    t.pair_run(rping(3, "-s -a " + address), rping(3, "-c -a " + address), port="cm",
               timeout=20)


def _capture_traffic(t, family):
    """Capture that traffic in guest b; returns the file's path on the host."""
    capture = Capture(t, t.b, "tcp port 7471 or tcp port 7174")
    _run_traffic(t, family, t.b.address if family == "4" else t.b.address6)
    path = capture.stop("wire-iwarp-ipv%s" % family)
    capture.check_complete("ipv%s: tcpdump lost no packet" % family)
    return path


def _check_by_tshark(t, family, captured, seen):
    path = captured.replace(".pcap", "-by-message.pcap")
    fpdu.write_by_message(seen.connections, path)
    for severity in ("error", "warning"):
        bad = wire.tshark(path, "_ws.expert.severity == %s" % severity,
                          ("frame.number", "_ws.expert.message"))
        t.case("ipv%s: tshark has no %s" % (family, severity), not bad, str(bad[:10]))
    bad = wire.tshark(path, "_ws.malformed", ("frame.number", "iwarp_rdma.opcode"))
    t.case("ipv%s: tshark finds nothing malformed" % family, not bad, str(bad[:10]))
    rows = wire.tshark(path, "iwarp_mpa", ("iwarp_rdma.opcode", "iwarp_mpa.key.req",
                                           "iwarp_mpa.key.rep"))
    opcodes = collections.Counter(fpdu.opcode_name(int(row[0], 16)) for row in rows if row[0])
    t.case("ipv%s: tshark sees every FPDU, of the same kind" % family, opcodes == seen.opcodes,
           "%s, not %s" % (dict(opcodes), dict(seen.opcodes)))
    frames = sum(1 for row in rows if row[1] or row[2])
    t.case("ipv%s: tshark sees every MPA frame" % family, frames == sum(seen.frames.values()),
           "%d of %s" % (frames, dict(seen.frames)))


def run(t):
    for family in "46":
        path = _capture_traffic(t, family)
        seen = fpdu.Summary(path)
        t.note("ipv%s: %d FPDUs in %s" % (family, seen.fpdus, os.path.relpath(path, where.TOP)))
        t.case("ipv%s: every FPDU's CRC is what the table gives" % family,
               seen.fpdus and not seen.wrong, "\n".join(seen.wrong[:12]))
        t.case("ipv%s: requests, replies, a rejection" % family,
               seen.frames["request"] == len(seen.connections) and seen.frames["reply"] and
               seen.frames["reject"] == 1, str(dict(seen.frames)))
        for guest in t.guests:
            address = guest.address if family == "4" else guest.address6
            source = socket.inet_pton(socket.AF_INET if family == "4" else socket.AF_INET6,
                                      address)
            # The client's last WRITE is wrong: only the server sends a Terminate.
            missing = [name for name in fpdu.OPCODES if not seen.messages[source][name] and
                       (name != "Terminate" or guest is t.b)]
            t.case("ipv%s: guest %s sent every kind of message" % (family, guest.name),
                   not missing, "missing: " + ", ".join(missing))
        if shutil.which("tshark"):
            _check_by_tshark(t, family, path, seen)
        else:
            t.skip("tshark", "not on this machine")
