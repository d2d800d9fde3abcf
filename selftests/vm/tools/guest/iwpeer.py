# SPDX-License-Identifier: GPL-2.0
"""An iWARP peer over a plain TCP socket: valid or invalid MPA, DDP and RDMAP.

Shares nothing with tern's code. Fields come from RFC 5040, 5041, 5044, 6581 and 7306.
"""

import socket
import struct
import time

REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
MARKERS, CRC, REJECT, ENHANCED = 0x80, 0x40, 0x20, 0x10
LONG_FPDUS = 0x08               # reserved; siw's: FPDUs may be longer than TCP's segments
P2P = (0x8000, 0x8000)          # in the words of IRD and ORD: peer-to-peer, RTR is a Write

(WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE, IMM, IMM_SE,
 ATOMIC_REQ, ATOMIC_RESP) = range(12)
TAGGED = (WRITE, READ_RESP)
QUEUE = {SEND: 0, SEND_INV: 0, SEND_SE: 0, SEND_SE_INV: 0, IMM: 0, IMM_SE: 0, READ_REQ: 1,
         ATOMIC_REQ: 1, TERMINATE: 2, ATOMIC_RESP: 3}
FETCH_ADD, CMP_SWAP = 0, 2


def _table():
    out = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        out.append(value)
    return out


_CRC = _table()


def crc32c(data):
    """Castagnoli's."""
    crc, table = 0xffffffff, _CRC
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


# ---- formats

def mpa(flags=CRC | ENHANCED, revision=2, private=b"", length=None, key=REQUEST, ird=16, ord_=16,
        p2p=P2P):
    """A start-up frame. length: a wrong length of the private data, if given."""
    if flags & ENHANCED and length is None:
        private = struct.pack(">HH", ird | p2p[0], ord_ | p2p[1]) + private
    return key + struct.pack(">BBH", flags, revision,
                             len(private) if length is None else length) + private


def fpdu(ulpdu, crc_xor=0, length=None):
    """An FPDU. length: a wrong length of the ULPDU, if given."""
    body = struct.pack(">H", len(ulpdu) if length is None else length) + ulpdu
    body += bytes(-len(body) % 4)
    return body + struct.pack("<I", crc32c(body) ^ crc_xor)


def _control(opcode, tagged, last, ddp, rdmap):
    return bytes([(0x80 if tagged else 0) | (0x40 if last else 0) | ddp, rdmap << 6 | opcode])


def tagged(opcode, stag, to, payload=b"", last=True, ddp=1, rdmap=1):
    """A tagged segment."""
    return _control(opcode, True, last, ddp, rdmap) + \
        struct.pack(">IQ", stag & 0xffffffff, to & (1 << 64) - 1) + payload


def untagged(opcode, payload=b"", qn=None, msn=1, mo=0, inv=0, last=True, ddp=1, rdmap=1):
    """An untagged segment. qn: another queue than the opcode's."""
    return _control(opcode, False, last, ddp, rdmap) + struct.pack(
        ">IIII", inv & 0xffffffff, QUEUE.get(opcode, 0) if qn is None else qn, msn, mo) + payload


def read_request(stag, to, count, sink=0x51, sink_to=0, **how):
    """A Read Request for count bytes."""
    return untagged(READ_REQ, struct.pack(">IQIIQ", sink, sink_to, count, stag & 0xffffffff,
                                          to & (1 << 64) - 1), **how)


def atomic_request(stag, to, op=FETCH_ADD, add=1, add_mask=0, compare=0, compare_mask=0, **how):
    """An Atomic Request, by default a fetch and add of 1."""
    return untagged(ATOMIC_REQ, struct.pack(">IIIQQQQQ", op, 0x77, stag & 0xffffffff,
                                            to & (1 << 64) - 1, add, add_mask, compare,
                                            compare_mask), **how)


def terminate(code, payload=b"\0\0", **how):
    """Layer, type and code in one: 0x1100 is DDP, tagged buffer, invalid STag."""
    return untagged(TERMINATE, struct.pack(">H", code) + payload, **how)


# ---- what the peer sends

class Ended(Exception):
    """The peer ended the stream: `how` is FIN, RST or silence."""

    def __init__(self, how):
        super().__init__(how)
        self.how = how


class Segment:
    """A received segment."""

    def __init__(self, ulpdu):
        self.ulpdu = ulpdu
        self.opcode = ulpdu[1] & 0xf
        self.tagged = ulpdu[0] & 0x80 != 0
        self.last = ulpdu[0] & 0x40 != 0
        if self.tagged:
            self.stag, self.to = struct.unpack_from(">IQ", ulpdu, 2)
            self.payload = ulpdu[14:]
        else:
            self.qn, self.msn, self.mo = struct.unpack_from(">III", ulpdu, 6)
            self.payload = ulpdu[18:]

    @property
    def code(self):
        """A Terminate's code; None for other segments."""
        if self.opcode != TERMINATE or len(self.payload) < 4:
            return None
        return struct.unpack_from(">H", self.payload)[0]


class Stream:
    """A TCP connection with MPA on it, from either end."""

    def __init__(self, sock, limit_s=10):
        self.sock = sock
        self.sock.settimeout(limit_s)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.markers = False
        self._raw, self._at, self._data = 0, 0, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close with a FIN, or with a reset if data were not read."""
        self.sock.close()

    def reset(self):
        """Close with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def send(self, data):
        """Send bytes. If the peer is gone already, the next read will show that."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send_slowly(self, data, cuts, pause_s=0):
        """Send in pieces that end at `cuts`, if possible each as a segment of its own."""
        begin = 0
        for end in list(cuts) + [len(data)]:
            self.send(data[begin:end])
            begin = end
            if pause_s:
                time.sleep(pause_s)

    def finish(self):
        """Send a FIN. Data can still be read."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _read(self, count):
        out = b""
        while len(out) < count:
            try:
                got = self.sock.recv(count - len(out))
            except socket.timeout:
                raise Ended("silence") from None
            except ConnectionError:
                raise Ended("RST") from None
            if not got:
                raise Ended("FIN")
            out += got
        return out

    def skip(self, count):
        """Read that many bytes of any content. Data after them are not usable."""
        while count:
            count -= len(self._read(min(count, 1 << 16)))

    def _read_stream(self, count):
        """An FPDU's bytes without markers."""
        out = b""
        while len(out) < count:
            if self.markers and self._raw % 512 == 0:
                self._read(4)
                self._raw += 4
            room = 512 - self._raw % 512 if self.markers else count
            part = self._read(min(count - len(out), room))
            self._raw += len(part)
            out += part
        return out

    def frame(self, key):
        """The peer's start-up frame: (flags, revision, ird, ord, private data)."""
        head = self._read(20)
        if head[:16] != key:
            raise ValueError("this is no %r: %r" % (key, head))
        flags, revision, length = struct.unpack_from(">BBH", head, 16)
        private = self._read(length)
        ird = ord_ = None
        if flags & ENHANCED:
            ird, ord_ = struct.unpack_from(">HH", private)
            private = private[4:]
        self.markers = False
        return flags, revision, ird, ord_, private

    def segment(self):
        """The next segment; its CRC is checked unless markers are in it."""
        head = self._read_stream(2)
        length = struct.unpack(">H", head)[0]
        rest = self._read_stream(length + -(2 + length) % 4)
        crc = struct.unpack("<I", self._read_stream(4))[0]
        if not self.markers and crc != crc32c(head + rest):
            raise ValueError("wrong CRC in what came")
        return Segment(rest[:length])

    def end(self):
        """Read to the end; returns (segments, how it ended)."""
        got = []
        try:
            while True:
                got.append(self.segment())
        except Ended as ended:
            return got, ended.how


class Peer(Stream):
    """A connection to an iWARP server."""

    def __init__(self, address, port, limit_s=10, rcvbuf=None, maxseg=None):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if maxseg:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, maxseg)
        sock.settimeout(limit_s)
        sock.connect((address, port))
        super().__init__(sock, limit_s)

    def reply(self):
        """The server's reply frame."""
        return self.frame(REPLY)
