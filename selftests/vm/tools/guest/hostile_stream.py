# SPDX-License-Identifier: GPL-2.0
"""vhostile.py's cases of a stream's end and speed, and of random data."""

import itertools
import random
import select
import socket
import time

import iwpeer as iw
from hostile import (ATOMIC_AT_PEER, DEPTH, NOTHING, READ_FROM_PEER, RTR, SEND_TO_PEER, SLOW, TOP,
                     Wrong, pause)


# ---- the stream itself

# The bytes of an FPDU of nearly the largest length, the number of these FPDUs, and the bytes of the
# smallest segments that Linux can be told to send.
_LONG_FPDU = 65000
_LONG_FPDUS = 8
_SMALL_SEGMENT = 88


def stream(s):
    """A stream ends at every offset, is cut at odd offsets, has a window that stays shut."""
    start = iw.mpa(private=b"\x10\0")
    body = RTR + iw.fpdu(iw.tagged(iw.WRITE, s.open.key, s.open.va, b"Z" * 40))
    whole = start + body

    def resets():
        for end in (0, 1, 19, 20, 25, len(start), len(start) + 1, len(start) + len(RTR),
                    len(whole) - 30, len(whole) - 1, len(whole)):
            peer = s.begin()
            peer.send(whole[:end])
            if end >= len(start) and end % 2:
                peer.reply()
            peer.reset()
    s.case("stream/resets", resets, None)

    def fins():
        for end in range(1, len(body) - len(RTR), 7):
            with s.connect() as peer:
                peer.send(body[len(RTR):][:end])
                peer.finish()
                s.expect_end(peer)
    s.case("stream/fin_in_an_fpdu", fins)

    # An end waits in vain for data if the other end has closed.
    for name, how in (("a_response", {"job": READ_FROM_PEER}),
                      ("the_first_message", {"job": SEND_TO_PEER, "rtr": False})):
        def instead(how=how):
            with s.connect(**how) as peer:
                peer.finish()
                s.expect_end(peer)
        s.case("stream/fin_instead_of_" + name, instead)

    def before_reply():
        with s.begin() as peer:
            peer.send(start + RTR + iw.fpdu(iw.untagged(13)))
            peer.reply()
            s.expect_end(peer, (0x0206,))
    s.case("stream/fpdus_before_the_reply", before_reply)

    rng = random.Random(s.seed)
    s.case("stream/random_cuts", lambda: _random_cuts(s, rng), None)

    def bytewise():
        with s.connect() as peer:
            peer.send_slowly(body[len(RTR):], range(1, len(body) - len(RTR)))
            peer.finish()
            s.expect_end(peer)
    s.case("stream/byte_by_byte", bytewise, 40)

    def urgent():
        with s.connect() as peer:
            peer.sock.send(b"\0", socket.MSG_OOB)
            peer.send(body[len(RTR):])
            pause(0.2)
            peer.reset()
    s.case("stream/urgent_byte", urgent, None)

    s.case("stream/long_fpdus_in_small_segments", lambda: _small_segments(s, rng), None)
    _shut(s)
    s.works("stream")


def _random_cuts(s, rng):
    """Write all of the open region, in segments of any size: all arrives as sent."""
    image = bytearray(b"\xc5" * 8192)
    data = bytearray()
    for _ in range(40):
        at, count = rng.randrange(8000), rng.randrange(1, 190)
        piece = rng.randbytes(count)
        image[at:at + count] = piece
        data += iw.fpdu(iw.tagged(iw.WRITE, s.open.key, s.open.va + at, piece,
                                  last=rng.random() < 0.7))
    cuts = sorted(rng.randrange(1, len(data)) for _ in range(200))
    with s.connect() as peer:
        peer.send_slowly(bytes(data), cuts)
        peer.send(iw.fpdu(iw.read_request(s.open.key, s.open.va, 8192)))
        got = b""
        while len(got) < 8192:
            got += peer.segment().payload
        if got != bytes(image[:8192]):
            raise Wrong("what was written in pieces is not what was sent")


def _small_segments(s, rng):
    """A small packet takes much memory, so an incomplete FPDU may
    fill the receive buffer and shut the window. The rest must still arrive. (It takes 16 KiB in
    User Mode Linux. With less TCP makes room by itself.)"""
    data = rng.randbytes(_LONG_FPDU)
    with s.connect(maxseg=_SMALL_SEGMENT) as peer:
        peer.send(_LONG_FPDUS * iw.fpdu(iw.tagged(iw.WRITE, s.open.key, s.open.va, data)) +
                  iw.fpdu(iw.read_request(s.open.key, s.open.va, _LONG_FPDU)))
        got = b""
        while len(got) < _LONG_FPDU:
            got += peer.segment().payload
        if got != data:
            raise Wrong("what was written in small segments is not what was sent")


def _shut(s):
    """A peer requests data and does not read them, or does not answer."""
    def shut():
        peer = s.connect(rcvbuf=16384)
        for msn in range(1, DEPTH + 1):
            peer.send(iw.fpdu(iw.read_request(s.open.key, s.open.va, s.open.bytes, msn=msn)))
        return peer

    def resets():
        for _ in range(40):
            shut().reset()
    s.case("shut_window/resets", resets)

    def destroyed():
        peer = shut()
        pause(0.3)
        s.ask("destroy")
        s.wait_live(0, 3)
        peer.reset()
    s.case("shut_window/destroyed", destroyed)

    def ends():
        """The server ends the connection, or has a reason to: it ends in time, whatever we do."""
        peers = {"wrong segment": shut(), "shut window": shut(),
                 "READ without a response": s.connect(job=READ_FROM_PEER),
                 "no first message": s.connect(job=SEND_TO_PEER, rtr=False)}
        pause(0.5)
        peers["wrong segment"].send(iw.fpdu(iw.untagged(13)))
        s.round_trip()
        s.ask("drop")
        try:
            s.wait_live(0, 12)
        except Wrong:
            # A connection that was reset gives an error.
            open_ = [name for name, peer in peers.items()
                     if not peer.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]
            raise Wrong("after 12 s the server still waits for: " + ", ".join(open_)) from None
        finally:
            for peer in peers.values():
                peer.reset()
    s.case("stream/end_is_not_waited_for_for_ever", ends, 64)


def slow(s):
    """Many slow connections: the server ends them after the time limit, and others notice nothing."""
    wish = b"\0\0"          # no receives

    def work():
        began = time.monotonic()
        loris = [s.begin() for _ in range(40)]
        silent = [s.begin() for _ in range(20)]
        eager = s.connect(receives=0)
        eager.send(iw.fpdu(iw.untagged(iw.SEND, b"Z")))
        waiting = {peer.sock: peer for peer in loris + silent}
        ended, eager_end = {}, None
        step = 0
        while (waiting or eager_end is None) and time.monotonic() - began < 16 * SLOW:
            for peer in loris:
                if peer.sock in waiting and step % 4 == 0:
                    peer.send(iw.mpa(private=wish)[step // 4:][:1])
            readable = select.select(list(waiting) + ([] if eager_end else [eager.sock]), [], [],
                                     0)[0]
            for sock in readable:
                if sock in waiting:
                    ended[waiting.pop(sock)] = time.monotonic() - began
                else:
                    eager_end = time.monotonic() - began
                    s.expect_end(eager, (0x1202,))
            if step % 8 == 0:
                s.round_trip()
            step += 1
            time.sleep(0.12)
        for peer in loris + silent + [eager]:
            peer.close()
        if waiting or eager_end is None:
            raise Wrong("%d of 60 were never ended; the Send without a receive ended at %s" % (
                len(waiting), eager_end))
        first, last = min(ended.values()), max(ended.values())
        if first < 8 or last > 14 * SLOW or not 4 < eager_end < 8 * SLOW:
            raise Wrong("ends from %.1f to %.1f s, the Send without a receive %.1f s" % (
                first, last, eager_end))
    s.case("slow/many_at_once", work, 64)
    s.works("slow")


# ---- random data

def _likely(s, rng):
    """A segment with right framing and likely values in its fields."""
    region = rng.choice(s.regions)
    key = rng.choice((region.key, region.key, region.key, rng.getrandbits(32)))
    ats = (0, 0, 8, -1, region.bytes - 8, region.bytes, rng.getrandbits(64))
    to = (region.va + rng.choice(ats)) % TOP
    payload = rng.randbytes(rng.choice((0, 1, 8, 12, 28, 52, rng.randrange(400))))
    opcode = rng.randrange(16) if rng.random() < 0.1 else rng.randrange(12)
    last, versions = rng.random() < 0.8, {"ddp": 1, "rdmap": 1}
    if rng.random() < 0.05:
        versions = {"ddp": rng.randrange(4), "rdmap": rng.randrange(4)}
    msn = rng.choice((1, 1, 1, 2, 0, rng.getrandbits(32)))
    if opcode == iw.READ_REQ and rng.random() < 0.8:
        return iw.read_request(key, to, rng.choice((0, 1, 64, 4000, rng.getrandbits(32))), msn=msn)
    if opcode == iw.ATOMIC_REQ and rng.random() < 0.8:
        return iw.atomic_request(key, to & ~7, rng.choice((0, 0, 2, rng.randrange(16))), msn=msn)
    if opcode in iw.TAGGED and rng.random() < 0.9:
        return iw.tagged(opcode, key, to, payload, last, **versions)
    return iw.untagged(opcode, payload, rng.choice((None, None, None, rng.randrange(6))), msn,
                       rng.choice((0, 0, 0, rng.getrandbits(32))), key, last, **versions)


def garbage(s, count):
    """Random bytes, and random segments, after a good start-up."""
    rng = random.Random(s.seed)

    def batch(make):
        def work():
            for _ in range(25):
                with s.connect(job=rng.choice((NOTHING, NOTHING, READ_FROM_PEER, ATOMIC_AT_PEER)),
                               rtr=rng.random() < 0.7) as peer:
                    peer.send(make())
                    peer.finish()
                    if peer.end()[1] == "silence":
                        raise Wrong("the stream did not end behind our FIN")
        return work
    kinds = itertools.cycle((
        ("bytes", lambda: rng.randbytes(rng.randrange(1, 1000))),
        ("segments", lambda: b"".join(iw.fpdu(_likely(s, rng)) for _ in range(rng.randint(1, 5)))),
        ("ulpdus", lambda: iw.fpdu(rng.randbytes(rng.randrange(80))))))
    for n, (name, make) in zip(range(0, count, 25), kinds):
        s.case("garbage/%s_%d" % (name, n), batch(make), None)
    s.works("garbage")
