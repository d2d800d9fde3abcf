#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A hostile iWARP server: runs in a guest, answers one client after the other, prints TAP.

usage: vresponder.py ADDRESS PORT

Each case is a wrong reply to one connection's MPA request. The client must end the connection,
with the Terminate that RFC 6581 8 has for the case, if any.
"""

import socket
import sys

import iwpeer as iw

# Long enough to tell a client that never ends from one on a busy machine.
_PATIENCE_S = 60
_NO_IRD, _NO_RTR, _CRC = 0x2006, 0x2007, 0x2002
_ENHANCED = iw.CRC | iw.ENHANCED


def _ended(stream, code=None):
    """What is wrong with the client's end, or None."""
    got, how = stream.end()
    codes = [segment.code for segment in got if segment.code is not None]
    if how == "silence":
        return "the client does not end the connection"
    if codes != ([] if code is None else [code]):
        return "Terminates %s instead of %s" % ([hex(c) for c in codes], code and hex(code))
    return None


def _answer(data, code=None):
    """A case: these bytes instead of a reply."""
    def case(stream):
        stream.send(data)
        return _ended(stream, code)
    return case


def _frame(**how):
    """A reply that is right for rping, whose IRD is 1, except for the arguments."""
    return iw.mpa(key=iw.REPLY, **{"flags": _ENHANCED, "ord_": 1, **how})


def _reply(code=None, **how):
    """A case: a reply with that error."""
    return _answer(_frame(**how), code)


def _cut(stream):
    stream.send(_frame()[:18])
    stream.finish()
    return _ended(stream)


def _close(stream):
    stream.finish()
    return _ended(stream)


def _reset(stream):
    stream.reset()


def _garbage(stream):
    stream.send(_frame())
    stream.send(iw.fpdu(iw.tagged(iw.WRITE, 1, 0), crc_xor=1))
    return _ended(stream, _CRC)


CASES = (
    ("ord_above_ird", _reply(_NO_IRD, ord_=0x3ffe)),
    ("unknown_first_message", _reply(_NO_RTR, p2p=(0xc000, 0))),
    ("no_peer_to_peer", _reply(_NO_RTR, p2p=(0, 0))),
    ("revision_1", _reply(_NO_RTR, flags=iw.CRC, revision=1)),
    ("rejection", _reply(flags=_ENHANCED | iw.REJECT, private=b"no")),
    ("revision_9", _reply(revision=9)),
    ("request_key",
     _answer(iw.mpa(key=iw.REQUEST, flags=_ENHANCED))),
    ("private_too_long", _reply(length=513)),
    ("private_too_short", _reply(length=2)),
    ("no_mpa", _answer(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
    ("half_a_reply", _cut),
    ("end_at_once", _close),
    ("reset", _reset),
    ("wrong_crc", _garbage),
)


def main():
    """Run all cases; returns the exit code of a TAP program."""
    listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
    listener.settimeout(2 * _PATIENCE_S)
    print("TAP version 13")
    failed = 0
    for number, (name, case) in enumerate(CASES, 1):
        stream = iw.Stream(listener.accept()[0], _PATIENCE_S)
        stream.frame(iw.REQUEST)
        wrong = case(stream)
        stream.close()
        failed += bool(wrong)
        print("%sok %d responder/%s" % ("not " if wrong else "", number, name))
        if wrong:
            print("# " + wrong)
        sys.stdout.flush()
    print("1..%d" % len(CASES))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
