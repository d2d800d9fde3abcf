# SPDX-License-Identifier: GPL-2.0
"""iWARP, tern with tern and with siw: verified data both ways, with and without CRCs; disconnects."""

from riglib.rping import rping
from vmtest import crc, fpdu
from vmtest.capture import Capture

PAIRS = ("iwarp-iwarp", "iwarp-siw", "siw-iwarp")
LONG_PAIRS = ("iwarp-siw", "siw-iwarp")
LIMIT = 240


def _make_commands(t, options):
    """viwarp's two commands. siw (6.1) does not flush all work requests at a disconnect: -L there."""
    there, here = ("/tern/viwarp %s%s" % (options, " -L" if t.lab.driver_of(t.pair, guest) == "siw"
                                          else "") for guest in "ba")
    return there, "%s %s" % (here, t.b.address)


def _check_verified(t, name, options):
    t.pair_case(name, *_make_commands(t, options), port=7471, want="verified")


def _check_wire(t, name, with_crc):
    """Capture an rping: CRCs are used as agreed, and are right."""
    capture = Capture(t, t.b, "tcp port 7174", timeout=60)
    t.pair_case("%s: rping" % name, rping(3, "-s -a " + t.b.address),
                rping(3, "-c -a " + t.b.address), port="cm")
    seen = fpdu.Summary(capture.stop("iwarp-" + t.pair))
    used = [bool((here.flags | there.flags) & 0x40) for here, there in seen.connections]
    # siw does not clear its padding.
    wrong = [text for text in seen.wrong if "padding" not in text]
    t.case("%s: on the wire" % name, used == [with_crc] and seen.fpdus and not wrong,
           "CRCs used: %s, %d FPDUs\n%s" % (used, seen.fpdus, "\n".join(wrong[:5])))


def _check_ends(t):
    """Either end disconnects with work pending at both: the other gets the event, all is flushed."""
    for way in ("disconnect", "abort", "destroy", "kill"):
        for end in ("client", "server"):
            there, here = t.pair_run(
                *_make_commands(t, "-n 2 -e %s%s" % (way, " -S" if end == "server" else "")), port=7471)
            ended, other = (here, there) if end == "client" else (there, here)
            t.case("%s by the %s" % (way, end),
                   other.rc == 0 and (ended.rc == 0 or way == "kill") and "verified" in other.out,
                   "%s exit %d: %s%s\nthe other exit %d: %s%s" % (
                       end, ended.rc, ended.out, ended.err, other.rc, other.out, other.err))


def run(t):
    t.undo = [lambda: crc.ask(t, True, True)]
    asks = [("CRCs", True, True), ("no CRCs", False, False)]
    if t.lab.driver_of(t.pair, "b") == "iwarp":
        asks.append(("CRCs for the client", True, False))
    if t.pair == "iwarp-iwarp":
        # siw as a server does not insist on CRCs.
        asks.append(("CRCs for the server", False, True))
    for name, client, server in asks:
        crc.ask(t, client, server)
        _check_wire(t, name, client or server)
        _check_verified(t, name + ": up to 1 MiB", "-n 8 -r %d" % len(name))
        _check_verified(t, name + ": many small", "-n 40 -b 2048 -r %d" % len(name))
    # siw (6.1) fails with -z: see Documentation/iwarp.md.
    zeros = " -z" if t.pair == "iwarp-iwarp" else ""
    _check_verified(t, "few outstanding READs", "-n 10 -b 65536 -d 3" + zeros)
    _check_ends(t)
