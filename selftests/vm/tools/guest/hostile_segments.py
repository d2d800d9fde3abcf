# SPDX-License-Identifier: GPL-2.0
"""vhostile.py's cases of wrong start-up frames, FPDUs and segments.

The codes are those of Documentation/iwarp.md, otherwise those of RFC 5040 and 5041.
"""

import socket
import struct

import iwpeer as iw
from hostile import (ATOMIC_AT_PEER, DEPTH, FAIL_A_SEND, READ_FROM_PEER, RECEIVE_BYTES, RECEIVES, RTR,
                     SINK_BYTES, TOP, Wrong, pause)


# ---- start-up

def _first_message(s, flags):
    """Cases of peer-to-peer mode."""
    def is_read():
        """The RTR is accepted even if no READs are allowed (RFC 6581 9.1)."""
        with s.connect(depth=0, rtr=False, p2p=(0x8000, 0x4000), ord_=0) as peer:
            if (peer.ird, peer.ord) != (0x8001, 0x4000):
                raise Wrong("the reply's IRD %#x, ORD %#x" % (peer.ird, peer.ord))
            peer.send(iw.fpdu(iw.read_request(0, 0, 0)))
            if peer.segment().opcode != iw.READ_RESP:
                raise Wrong("the READ is not answered")
            peer.finish()
            s.expect_end(peer)
    s.case("mpa/first_message_is_a_read", is_read)

    def none():
        """The initiator has to end the connection: the reply names the RTRs that would work (9.2)."""
        with s.connect(rtr=False, p2p=(0xc000, 0)) as peer:
            if peer.flags != flags or peer.ird & 0xc000 != 0x8000 or peer.ord & 0xc000 != 0xc000:
                raise Wrong("the reply's flags %#x, IRD %#x, ORD %#x" % (
                    peer.flags, peer.ird, peer.ord))
            peer.send(iw.fpdu(iw.terminate(0x2007)))
            s.expect_end(peer)
    s.case("mpa/no_common_first_message", none)


def mpa(s):
    """Start-up frames."""
    good = iw.mpa(private=b"\x10\0")
    for at in (0, 7, 15):
        s.closed("mpa/key_byte_%d" % at, good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
    s.closed("mpa/reply_key", iw.REPLY + good[16:])
    for revision in (0, 3, 255):
        s.closed("mpa/revision_%d" % revision, iw.mpa(revision=revision))
    for length in (513, 0x7fff, 0xffff):
        s.closed("mpa/private_data_%d" % length, iw.mpa(length=length) + bytes(600))
    for length in range(4):
        s.closed("mpa/enhanced_with_%d" % length, iw.mpa(length=length, private=bytes(length)))
    for bytes_ in (0, 1, 15, 16, 17, 19, 20, 23, 25):
        s.closed("mpa/fin_after_%d" % bytes_, good[:bytes_], finish=True)
    s.closed("mpa/http", b"GET / HTTP/1.0\r\n\r\n")

    def accepts(flags, revision, private=b"\x10\0", want_flags=iw.CRC, **how):
        with s.begin() as peer:
            peer.send(iw.mpa(flags, revision, private, **how) + RTR)
            got = peer.reply()
            if got[:2] != (want_flags, revision):
                raise Wrong("flags %#x, revision %d in the reply" % got[:2])
            peer.finish()
            s.expect_end(peer)
    s.case("mpa/version_1", lambda: accepts(iw.CRC, 1))
    s.case("mpa/version_1_ignores_enhanced", lambda: accepts(iw.CRC | iw.ENHANCED, 1, length=2))
    s.case("mpa/no_wish_for_crc", lambda: accepts(0, 1))
    s.case("mpa/private_data_512", lambda: accepts(iw.CRC, 1, b"\x10" + bytes(511)))
    s.case("mpa/reserved_flags", lambda: accepts(iw.CRC | 7, 1))
    s.case("mpa/long_fpdus", lambda: accepts(iw.CRC | iw.LONG_FPDUS, 1,
                                             want_flags=iw.CRC | iw.LONG_FPDUS))
    both = iw.CRC | iw.ENHANCED
    s.case("mpa/enhanced", lambda: accepts(both, 2, want_flags=both))
    _first_message(s, both)

    def with_markers():
        with s.connect(flags=iw.CRC | iw.ENHANCED | iw.MARKERS) as peer:
            for msn in (1, 2):
                peer.send(iw.fpdu(iw.read_request(s.open.key, s.open.va, 3500, msn=msn)))
                got = b""
                while len(got) < 3500:
                    got += peer.segment().payload
                if got != b"\xc5" * 3500:
                    raise Wrong("the data between the markers are wrong")
            peer.send(iw.fpdu(iw.tagged(iw.WRITE, s.dead.key, s.dead.va, b"Z")))
            s.expect_end(peer, (0x1100,))
    s.case("mpa/markers_and_a_terminate", with_markers)
    s.works("mpa")


# ---- frames and headers

def framing(s):
    """MPA's framing, DDP's and RDMAP's control fields."""
    good = iw.tagged(iw.WRITE, s.open.key, s.open.va, b"Z" * 20)
    s.refused("fpdu/crc", 0x2002, bytearray(iw.fpdu(good, crc_xor=1)))
    s.refused("fpdu/crc_zero", 0x2002, bytearray(iw.fpdu(good)[:-4] + bytes(4)))
    s.refused("fpdu/length_too_small", 0x2002, bytearray(iw.fpdu(good, length=16) + bytes(64)))
    for length in (0, 1, 2, 3, 13, 17):
        for first in (0xc1, 0x41):
            if first == 0xc1 and length > 13:
                continue
            ulpdu = bytes([first, 0x40] + [0] * 16)[:length]
            s.refused("fpdu/%d_bytes_%stagged" % (length, "" if first & 0x80 else "un"), 0x02ff,
                      ulpdu)
    for version in (0, 2, 3):
        s.refused("ddp/version_%d_tagged" % version, 0x1104,
                  iw.tagged(iw.WRITE, s.open.key, s.open.va, b"Z", ddp=version))
        s.refused("ddp/version_%d_untagged" % version, 0x1206,
                  iw.untagged(iw.SEND, b"Z", ddp=version))
        s.refused("rdmap/version_%d" % version, 0x0205, iw.untagged(iw.SEND, b"Z", rdmap=version))
    for opcode in range(12, 16):
        s.refused("rdmap/opcode_%d_tagged" % opcode, 0x0206,
                  iw.tagged(opcode, s.open.key, s.open.va, b"Z"))
        s.refused("rdmap/opcode_%d_untagged" % opcode, 0x0206, iw.untagged(opcode, b"Z"))
    for opcode in range(12):
        if opcode in iw.TAGGED:
            s.refused("rdmap/opcode_%d_not_tagged" % opcode, 0x0206, iw.untagged(opcode, bytes(28)))
            continue
        s.refused("rdmap/opcode_%d_tagged" % opcode, 0x0206,
                  iw.tagged(opcode, s.open.key, s.open.va, bytes(28)))
        for queue in set(range(4)) - {iw.QUEUE[opcode]}:
            s.refused("rdmap/opcode_%d_queue_%d" % (opcode, queue), 0x0206,
                      iw.untagged(opcode, bytes(28), qn=queue))
    for queue in (4, 0x80000000, 0xffffffff):
        s.refused("ddp/queue_%#x" % queue, 0x1201, iw.untagged(iw.SEND, b"Z", qn=queue))
    s.works("framing")


# ---- the untagged queues

def sends(s):
    """Sends and immediate data."""
    part = iw.untagged(iw.SEND, b"Z" * 100, last=False)
    for msn in (0, 2, 0x80000001, 0xffffffff):
        s.refused("send/msn_%#x" % msn, 0x1203, iw.untagged(iw.SEND, b"Z", msn=msn))
        s.refused("read/msn_%#x" % msn, 0x1203,
                  iw.read_request(s.open.key, s.open.va, 1, msn=msn))
        s.refused("atomic/msn_%#x" % msn, 0x1203,
                  iw.atomic_request(s.open.key, s.open.va, msn=msn))
        s.refused("imm/msn_%#x" % msn, 0x1203, iw.untagged(iw.IMM, bytes(8), msn=msn))
    s.refused("send/msn_again", 0x1203, iw.untagged(iw.SEND, b"Z"), iw.untagged(iw.SEND, b"Z"),
              inside=1)
    for mo in (1, 0x7fffffff, 0xffffffff):
        s.refused("send/first_offset_%#x" % mo, 0x1204, iw.untagged(iw.SEND, b"Z", mo=mo))
    for name, mo in (("gap", 101), ("overlap", 99), ("again", 0), ("far", 0xffffffff)):
        s.refused("send/offset_" + name, 0x1204, part, iw.untagged(iw.SEND, b"Z", mo=mo),
                  inside=100)
    s.refused("send/other_opcode_in_message", 0x0206, part,
              iw.untagged(iw.SEND_SE, b"Z", mo=100), inside=100)
    s.refused("send/imm_in_message", 0x0206, part, iw.untagged(iw.IMM, bytes(8)), inside=100)
    s.refused("send/empty_and_not_last", 0x02ff, iw.untagged(iw.SEND, last=False))
    s.refused("send/too_long", 0x1205, iw.untagged(iw.SEND, b"Z" * (RECEIVE_BYTES + 1)))
    s.refused("send/too_long_in_two", 0x1205,
              iw.untagged(iw.SEND, b"Z" * RECEIVE_BYTES, last=False),
              iw.untagged(iw.SEND, b"Z", mo=RECEIVE_BYTES), inside=RECEIVE_BYTES)
    s.accepted("send/just_fits", iw.untagged(iw.SEND, b"Z" * RECEIVE_BYTES), inside=RECEIVE_BYTES)
    s.accepted("send/empty", iw.untagged(iw.SEND))
    s.accepted("send/all_receives", *(iw.untagged(iw.SEND, b"Z", msn=1 + i)
                                      for i in range(RECEIVES)), inside=RECEIVES)
    for count, code in ((0, 0x02ff), (7, 0x02ff), (9, 0x1205)):
        s.refused("imm/%d_bytes" % count, code, iw.untagged(iw.IMM, bytes(count)))
    s.refused("imm/not_last", 0x1205, iw.untagged(iw.IMM, bytes(8), last=False))
    s.refused("imm/offset", 0x1204, iw.untagged(iw.IMM, bytes(8), mo=8))
    # The peer may not invalidate any region here: keys still work afterwards.
    for name, region in (("open", s.open), ("alien", s.alien), ("dead", s.dead)):
        for opcode in (iw.SEND_INV, iw.SEND_SE_INV):
            s.refused("send_inv/%s_%d" % (name, opcode), 0x0109,
                      iw.untagged(opcode, b"Z", inv=region.key), inside=1)
    for key in (0, 0xffffffff, s.open.key ^ 0x55):
        s.refused("send_inv/key_%#x" % key, 0x0109, iw.untagged(iw.SEND_INV, inv=key))
    s.works("sends")


# ---- tagged buffers

def outside(region):
    """(name, address, bytes) of ranges that are not within a region."""
    return (("before", region.va - 1, 1), ("begins_before", region.va - 1, 8),
            ("behind", region.end, 1), ("ends_behind", region.end - 1, 2),
            ("zero", 0, 1), ("far", (region.va + (1 << 63)) % TOP, 1),
            ("four_gib_on", region.va + (1 << 32), 1), ("last_byte", TOP - 1, 1),
            ("noncanonical", 0x8000 << 48, 8))


def unknown(region):
    """Keys that do not exist. Not neighbouring ones: one in 256 of them is another region's."""
    return (0, 1, 0xffffffff, region.key ^ 1, region.key ^ 0x80, region.key ^ 0x100000,
            region.key ^ 0x80000000, ~region.key & 0xffffffff)


def writes(s):
    """RDMA Writes."""
    def write(region, to, data, **how):
        return iw.tagged(iw.WRITE, region.key, to, data, **how)
    for key in unknown(s.open):
        s.refused("write/key_%#x" % key, 0x1100, iw.tagged(iw.WRITE, key, s.open.va, b"Z" * 8))
    for region, kind in ((s.open, "open"), (s.write, "write")):
        for name, to, count in outside(region):
            s.refused("write/%s_%s" % (kind, name), 0x1101, write(region, to, b"Z" * count))
    for to, count in ((TOP - 1, 2), (TOP - 8, 100)):
        s.refused("write/wraps_by_%d" % (to + count - TOP), 0x1103,
                  write(s.open, to, b"Z" * count))
    s.refused("write/no_right_read", 0x1100, write(s.read, s.read.va, b"Z"))
    s.refused("write/no_right_none", 0x1100, write(s.none, s.none.va, b"Z"))
    s.refused("write/other_pd", (0x1100, 0x1102), write(s.alien, s.alien.va, b"Z"))
    s.refused("write/dead_key", 0x1100, write(s.dead, s.dead.va, b"Z"))
    s.refused("write/second_segment_behind", 0x1101,
              write(s.write, s.write.end - 10, b"Z" * 10, last=False),
              write(s.write, s.write.end, b"Z"), inside=10)
    s.refused("write/empty_and_not_last", 0x02ff, write(s.open, s.open.va, b"", last=False))
    s.accepted("write/empty_to_no_key", iw.tagged(iw.WRITE, 0xffffffff, 0))
    s.accepted("write/all_of_it", write(s.write, s.write.va, b"Z" * s.write.bytes),
               inside=s.write.bytes)
    s.accepted("write/longest_segment", write(s.open, s.open.va, b"Z" * (0xffff - 14)),
               inside=0xffff - 14)
    s.works("writes")


def reads(s):
    """Wrong Read Requests, and Read Responses without a request."""
    def read(region, to, count, **how):
        return iw.read_request(region.key, to, count, **how)
    for key in unknown(s.open):
        s.refused("read/key_%#x" % key, 0x0100, iw.read_request(key, s.open.va, 8))
    for name, to, count in outside(s.open):
        s.refused("read/" + name, 0x0101, read(s.open, to, count))
    for count in (s.open.bytes + 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1):
        s.refused("read/%d_bytes" % count, 0x0101, read(s.open, s.open.va, count))
    s.refused("read/wraps", 0x0104, read(s.open, TOP - 1, 2))
    s.refused("read/wraps_far", (0x0101, 0x0104), read(s.open, TOP - 8, (1 << 32) - 1))
    s.refused("read/no_right_write", 0x0102, read(s.write, s.write.va, 1))
    s.refused("read/no_right_none", 0x0102, read(s.none, s.none.va, 1))
    s.refused("read/other_pd", (0x0100, 0x0103), read(s.alien, s.alien.va, 1))
    s.refused("read/dead_key", 0x0100, read(s.dead, s.dead.va, 1))
    s.refused("read/too_many", 0x1202,
              *(read(s.open, s.open.va, 1, msn=1 + i) for i in range(DEPTH + 1)))
    payload = read(s.open, s.open.va, 1)[18:]
    for count, code in ((0, 0x02ff), (27, 0x02ff), (29, 0x1205)):
        s.refused("read/request_of_%d_bytes" % count, code,
                  iw.untagged(iw.READ_REQ, (payload + bytes(8))[:count]))
    s.refused("read/request_not_last", 0x1205, iw.untagged(iw.READ_REQ, payload, last=False))
    s.refused("read/request_offset", 0x1204, iw.untagged(iw.READ_REQ, payload, mo=28))
    s.accepted("read/empty_of_no_key", iw.read_request(0xffffffff, 0, 0))
    s.refused("read_resp/unasked", 0x0206, iw.tagged(iw.READ_RESP, s.open.key, s.open.va, b"Z"))
    s.refused("read_resp/unasked_and_empty", 0x0206, iw.tagged(iw.READ_RESP, 0, 0))
    _answers(s)
    s.works("reads")


def _answers(s):
    """The server READs from us, and gets wrong responses."""
    def answer(name, codes, *made, inside=0):
        def work():
            with s.connect(job=READ_FROM_PEER) as peer:
                asked = peer.segment()
                sink, to, count = struct.unpack_from(">IQI", asked.payload)
                if asked.opcode != iw.READ_REQ or count != SINK_BYTES:
                    raise Wrong("no READ of %d bytes: %s" % (SINK_BYTES, asked.ulpdu.hex()))
                for make in made:
                    peer.send(iw.fpdu(make(sink, to)))
                if not codes:
                    peer.finish()
                s.expect_end(peer, codes)
        s.case("read_resp/" + name, work, inside)

    def resp(stag=0, to=0, count=SINK_BYTES, last=True):
        return lambda sink, at: iw.tagged(iw.READ_RESP, sink ^ stag, (at + to) % TOP,
                                          b"Z" * count, last=last)
    answer("right", (), resp(), inside=SINK_BYTES)
    answer("right_in_two", (), resp(count=600, last=False), resp(to=600, count=400),
           inside=SINK_BYTES)
    answer("one_byte_too_long", (0x1101,), resp(count=SINK_BYTES + 1))
    answer("goes_on_behind", (0x1101,), resp(count=600, last=False), resp(to=600, count=401),
           inside=600)
    answer("again", (0x0206,), resp(), resp(), inside=SINK_BYTES)
    answer("ends_early", (0x1101,), resp(count=999))
    answer("does_not_end", (0x1101,), resp(last=False))
    for to in (1, -1, 1 << 32, SINK_BYTES, (1 << 64) - 600):
        answer("offset_%d" % to, (0x1101,), resp(to=to, count=1, last=False))
    for stag in (1, 0x80000000, 0xffffffff):
        answer("other_sink_%#x" % stag, (0x1100,), resp(stag=stag))
    answer("of_a_known_key", (0x1100,),
           lambda *_: iw.tagged(iw.READ_RESP, s.open.key, s.open.va, b"Z"))
    answer("empty_and_not_last", (0x02ff,), resp(count=0, last=False))
    answer("by_an_atomic", (0x0206,), lambda *_: iw.untagged(iw.ATOMIC_RESP, bytes(12)))
    for code in (0x0100, 0x1101, 0x1202, 0x2002, 0xffff):
        answer("by_a_terminate_%#06x" % code, (), lambda *_, c=code: iw.terminate(c))


def atomics(s):
    """Wrong Atomic Requests, and Atomic Responses without a request."""
    def atomic(region, to, **how):
        return iw.atomic_request(region.key, to, **how)
    ones = TOP - 1
    for key in unknown(s.open):
        s.refused("atomic/key_%#x" % key, 0x0100, iw.atomic_request(key, s.open.va))
    for name, to in (("before", s.open.va - 8), ("behind", s.open.end), ("zero", 0),
                     ("last_word", TOP - 8)):
        s.refused("atomic/" + name, 0x0101, atomic(s.open, to))
    for off in (1, 2, 4, 7):
        s.refused("atomic/misaligned_by_%d" % off, 0x0207, atomic(s.open, s.open.va + off))
    for op in (1, 3, 7, 15):
        s.refused("atomic/operation_%d" % op, 0x02ff, atomic(s.open, s.open.va, op=op))
    _masks(s)
    for name, region in (("read", s.read), ("write", s.write), ("none", s.none)):
        s.refused("atomic/no_right_" + name, 0x0102, atomic(region, region.va & ~7 & ones))
    s.refused("atomic/other_pd", (0x0100, 0x0103), atomic(s.alien, s.alien.va))
    s.refused("atomic/dead_key", 0x0100, atomic(s.dead, s.dead.va))
    s.refused("atomic/too_many", 0x1202,
              *(atomic(s.open, s.open.va, add=0, msn=1 + i) for i in range(DEPTH + 1)))
    payload = atomic(s.open, s.open.va)[18:]
    for count, code in ((0, 0x02ff), (51, 0x02ff), (53, 0x1205)):
        s.refused("atomic/request_of_%d_bytes" % count, code,
                  iw.untagged(iw.ATOMIC_REQ, (payload + bytes(8))[:count]))

    def right():
        with s.connect() as peer:
            peer.send(iw.fpdu(atomic(s.open, s.open.va, add=1)))
            was = peer.segment()
            if (was.opcode, was.payload) != (iw.ATOMIC_RESP, struct.pack(">I", 0x77) + b"\xc5" * 8):
                raise Wrong("the Atomic Response is wrong: " + was.ulpdu.hex())
            peer.finish()
            s.expect_end(peer)
    s.case("atomic/right", right, 1)
    s.refused("atomic_resp/unasked", 0x0206, iw.untagged(iw.ATOMIC_RESP, bytes(12)))
    for count, code in ((0, 0x02ff), (11, 0x02ff), (13, 0x1205)):
        s.refused("atomic_resp/%d_bytes" % count, code, iw.untagged(iw.ATOMIC_RESP, bytes(count)))

    def answer(name, codes, make, inside=0):
        def work():
            with s.connect(job=ATOMIC_AT_PEER) as peer:
                asked = peer.segment()
                ident = struct.unpack_from(">I", asked.payload, 4)[0]
                if asked.opcode != iw.ATOMIC_REQ:
                    raise Wrong("no atomic: " + asked.ulpdu.hex())
                peer.send(iw.fpdu(make(ident)))
                if not codes:
                    peer.finish()
                s.expect_end(peer, codes)
        s.case("atomic_resp/" + name, work, inside)

    def resp(ident, **how):
        return iw.untagged(iw.ATOMIC_RESP, struct.pack(">I", ident) + b"Z" * 8, **how)
    answer("right", (), resp, 8)
    answer("other_id", (0x0206,), lambda ident: resp(ident ^ 1))
    answer("msn", (0x1203,), lambda ident: resp(ident, msn=2))
    answer("by_a_read", (0x0206,), lambda ident: iw.tagged(iw.READ_RESP, ident, 0, b"Z" * 8))
    s.works("atomics")


def _masks(s):
    """Masked atomics on bytes that are all 0xc5."""
    def masked(name, want, **how):
        def work():
            with s.connect() as peer:
                peer.send(iw.fpdu(iw.atomic_request(s.open.key, s.open.va, **how)) +
                          iw.fpdu(iw.read_request(s.open.key, s.open.va, 8, msn=2)))
                if peer.segment().payload[4:] != b"\xc5" * 8:
                    raise Wrong("not what was there before")
                got = struct.unpack("<Q", peer.segment().payload)[0]
                if got != want:
                    raise Wrong("%#x instead of %#x" % (got, want))
                peer.finish()
                s.expect_end(peer)
        s.case("atomic/masked_" + name, work, None)
    was = int.from_bytes(b"\xc5" * 8, "little")
    fields = int.from_bytes(b"\x80" * 8, "little")
    masked("add", int.from_bytes(b"\x05" * 8, "little"), add=fields >> 1, add_mask=fields)
    masked("add_of_no_carry", was ^ 5, add=5, add_mask=TOP - 1)
    masked("swap", was & ~0xff0 | 0x120, op=iw.CMP_SWAP, add=0x123, add_mask=0xff0,
           compare=0xc5ff, compare_mask=0xff00)
    masked("swap_that_differs", was, op=iw.CMP_SWAP, add=0x123, add_mask=0xff0,
           compare=0xc4c5, compare_mask=0xff00)
    masked("swap_of_anything", 7, op=iw.CMP_SWAP, add=7, add_mask=TOP - 1)


# ---- what the server sends

def _fpdu_lengths(s, change=None, **how):
    """READ 20,000 bytes; returns (our MSS, the lengths of the ULPDUs that carry them)."""
    count = 20000
    with s.connect(**how) as peer:
        if change:
            peer.send(iw.fpdu(iw.read_request(s.open.key, s.open.va, 1)))
            peer.segment()
            change(peer)
        mss = peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        peer.send(iw.fpdu(iw.read_request(s.open.key, s.open.va, count, msn=2 if change else 1)))
        got = []
        while count > 0:
            segment = peer.segment()
            got.append(len(segment.ulpdu))
            count -= len(segment.payload)
        peer.finish()
        s.expect_end(peer)
    return mss, got


def _shrink_path(peer, mtu):
    """Send the other end a router's message about its last packet (RFC 1191)."""
    sock = peer.sock
    repair, queue, seq = 19, 20, 21          # TCP_REPAIR, _REPAIR_QUEUE, _QUEUE_SEQ
    sock.setsockopt(socket.IPPROTO_TCP, repair, 1)
    sock.setsockopt(socket.IPPROTO_TCP, queue, 1)
    next_ = sock.getsockopt(socket.IPPROTO_TCP, seq) & 0xffffffff
    sock.setsockopt(socket.IPPROTO_TCP, repair, -1)
    (us, our_port), (them, their_port) = sock.getsockname(), sock.getpeername()
    quote = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 1500, 0, 0x4000, 64, 6, 0,
                        socket.inet_aton(them), socket.inet_aton(us)) + \
        struct.pack(">HHI", their_port, our_port, next_)
    data = struct.pack(">HH", 0, mtu) + quote
    total = 0x0304 + sum(struct.unpack(">%dH" % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    check = ~(total + (total >> 16)) & 0xffff
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.sendto(struct.pack(">BBH", 3, 4, check) + data, (them, 0))
    pause(0.1)


def sizes(s):
    """FPDUs fit into TCP's segments (RFC 5044 4.5), unless our flags allow longer ones."""
    def fit(name, markers=False, **how):
        def work():
            if markers:
                how["flags"] = iw.CRC | iw.ENHANCED | iw.MARKERS
            mss, got = _fpdu_lengths(s, **how)
            want = max(128, mss - 6 - mss % 4 - (4 * -(-mss // 512) if markers else 0))
            if set(got[:-1]) != {want} or got[-1] > want:
                raise Wrong("ULPDUs of %s bytes for a MSS of %d" % (sorted(set(got)), mss))
        s.case("sizes/" + name, work, None)
    fit("fit")
    fit("fit_with_markers", markers=True)
    for maxseg in (88, 150, 536, 1001):
        fit("fit_into_%d" % maxseg, maxseg=maxseg)

    def long():
        mss, got = _fpdu_lengths(s, flags=iw.CRC | iw.ENHANCED | iw.LONG_FPDUS)
        if max(got) <= mss:
            raise Wrong("none of %s bytes is longer than a segment" % sorted(set(got)))
    s.case("sizes/long_if_we_say_so", long)

    def follows():
        mss, got = _fpdu_lengths(s, lambda peer: _shrink_path(peer, 1000))
        # This does not change our own end. The other end has 1,000 of 1,500 bytes left.
        if max(got[1:]) > mss - 500 - 6 or max(got[1:]) < mss - 500 - 6 - 3:
            raise Wrong("ULPDUs of %s bytes in a path of 1000" % sorted(set(got)))
    s.case("sizes/follow_the_path", follows)
    s.works("sizes")


def quotes(s):
    """What a Terminate quotes (RFC 5040 4.8, figure 10), for faults of either end."""
    def head(bits, ulpdu):
        return bytes([bits, 0]) + struct.pack(">H", len(ulpdu))
    read = iw.read_request(s.dead.key, s.open.va, 8)
    s.quoted("quotes/read_of_a_dead_key", 0x0100, head(0xe0, read) + read, read)
    write = iw.tagged(iw.WRITE, s.dead.key, s.open.va, b"Z" * 99)
    s.quoted("quotes/write_to_a_dead_key", 0x1100, head(0xc0, write) + write[:14], write)
    late = iw.read_request(s.open.key, s.open.va, 8, msn=2)
    s.quoted("quotes/read_out_of_order", 0x1203, head(0xc0, late) + late[:18], late)
    odd = iw.atomic_request(s.open.key, s.open.va + 1)
    s.quoted("quotes/misaligned_atomic", 0x0207, head(0xc0, odd) + odd[:18], odd)
    short = iw.untagged(iw.READ_REQ, bytes(27))
    s.quoted("quotes/short_read_request", 0x02ff, head(0xc0, short) + short[:18], short)
    s.quoted("quotes/half_a_header", 0x02ff, b"\0\0", b"\x41\x43\0\0")

    def behind():
        """The window is shut when the QP is destroyed: the Terminate arrives when we read."""
        with s.connect(rcvbuf=16384) as peer:
            for msn in range(1, DEPTH + 1):
                peer.send(iw.fpdu(iw.read_request(s.open.key, s.open.va, s.open.bytes, msn=msn)))
            pause(0.3)
            peer.send(iw.fpdu(iw.untagged(13)))
            pause(0.3)
            s.ask("destroy")
            s.wait_live(0, 3)
            s.expect_end(peer, (0x0206,))
    s.case("quotes/behind_a_shut_window", behind)

    def local():
        """The program destroys its QP as soon as it sees the failure: the Terminate still
        arrives, and then a FIN."""
        with s.connect(job=FAIL_A_SEND) as peer:
            got, how = peer.end()
            said = [segment.payload for segment in got if segment.opcode == iw.TERMINATE]
            if said != [bytes(4)] or how != "FIN":
                raise Wrong("Terminates %s, then %s" % ([p.hex() for p in said], how))
    s.case("quotes/local_failure", local)
    s.works("quotes")


def terminates(s):
    """Terminates with any contents: the stream ends, and they are not answered."""
    def one(name, *ulpdus):
        def work():
            with s.connect() as peer:
                peer.send(b"".join(iw.fpdu(u) for u in ulpdus))
                s.expect_end(peer)
        s.case("terminate/" + name, work)
    for count in range(4):
        one("%d_bytes" % count, iw.untagged(iw.TERMINATE, bytes(count)))
    one("plain", iw.terminate(0x1100))
    one("quotes_more_than_there_is", iw.terminate(0x1100, b"\xe0\0"))
    one("long", iw.terminate(0x0207, b"\xe0\0" + bytes(1000)))
    one("not_last", iw.untagged(iw.TERMINATE, bytes(4), last=False))
    one("offset_and_msn", iw.untagged(iw.TERMINATE, bytes(4), mo=77, msn=99))
    one("storm", *(iw.terminate(code) for code in range(0, 0x3000, 0x31)))
    one("then_a_write", iw.terminate(0x0207), iw.tagged(iw.WRITE, s.open.key, s.open.va, b"Z"))
    s.works("terminates")
