# SPDX-License-Identifier: GPL-2.0
"""Checks captured iWARP streams without any of tern's code: TCP, MPA, DDP and RDMAP headers,
and the CRC of every FPDU by a table made here."""

import collections
import struct

from . import wire

OPCODES = ("Write", "Read Request", "Read Response", "Send", "Send-Inv", "Send-SE", "Send-SE-Inv",
           "Terminate", "Immediate", "Immediate-SE", "Atomic Request", "Atomic Response")
_KEYS = {b"MPA ID Req Frame": "request", b"MPA ID Rep Frame": "reply"}


def opcode_name(opcode):
    """The name of a message's opcode."""
    return OPCODES[opcode] if opcode < len(OPCODES) else "opcode %d" % opcode


def _make_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        yield value


_CRC32C = tuple(_make_table())


def crc32c(data):
    """RFC 3720 B.4, as MPA puts it on the wire."""
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 255]
    return struct.pack("<I", crc ^ 0xffffffff)


def _tcp_at(frame):
    """Offsets in a frame, or None: (TCP header, IP's length field, first byte which that counts)."""
    kind = struct.unpack_from(">H", frame, 12)[0]
    if kind == 0x0800 and frame[23] == 6:
        return 14 + (frame[14] & 15) * 4, 16, 14
    if kind == 0x86dd and frame[20] == 6:
        return 54, 18, 54
    return None


def _payload_at(frame, tcp):
    return tcp + (frame[tcp + 12] >> 4) * 4


def _parse_segment(frame):
    """((source, its port, destination, its port), seq, flags, payload) of a TCP frame, or None."""
    found = _tcp_at(frame)
    if not found:
        return None
    tcp, length, start = found
    end = start + struct.unpack_from(">H", frame, length)[0]
    if start == 14:
        source, destination = frame[26:30], frame[30:34]
    else:
        source, destination = frame[22:38], frame[38:54]
    ports = struct.unpack_from(">HH", frame, tcp)
    seq, flags = struct.unpack_from(">I", frame, tcp + 4)[0], frame[tcp + 13]
    return (source, ports[0], destination, ports[1]), seq, flags, \
        frame[_payload_at(frame, tcp):end]


class Stream:
    """One direction of a connection: its bytes, its MPA frame, its FPDUs."""

    def __init__(self, source, isn, syn):
        self.source, self.isn, self.syn = source, isn, syn
        self._parts = {}
        # The bytes of its MPA frame and of each FPDU, in order.
        self.pieces = []
        self.kind, self.flags, self.revision, self.private = None, 0, 0, b""
        self.fpdus, self.trouble = [], []

    def add(self, seq, data):
        """A segment's payload."""
        at = (seq - self.isn - 1) & 0xffffffff
        if len(data) > len(self._parts.get(at, b"")):
            self._parts[at] = data

    def _bytes(self):
        data = bytearray()
        for at in sorted(self._parts):
            if at > len(data):
                self.trouble.append("%d bytes are missing at %d" % (at - len(data), len(data)))
                break
            data += self._parts[at][len(data) - at:]
        return bytes(data)

    def read_frame(self):
        """The MPA frame that a stream begins with; returns what follows."""
        data = self._bytes()
        self.kind = _KEYS.get(data[:16])
        if not self.kind or len(data) < 20:
            if data:
                self.trouble.append("begins with %r" % data[:16])
            return b""
        self.flags, self.revision, length = struct.unpack_from(">BBH", data, 16)
        self.private = data[20:20 + length]
        self.pieces.append(data[:20 + length])
        return data[20 + length:]

    @property
    def rejects(self):
        """Is it a rejecting reply?"""
        return self.kind == "reply" and bool(self.flags & 0x20)

    def read_fpdus(self, data, with_crc):
        """Cut what follows the frame into FPDUs."""
        at = 0
        while at + 2 <= len(data):
            length = struct.unpack_from(">H", data, at)[0]
            end = at + (2 + length + 3) // 4 * 4
            if end + 4 > len(data):
                break
            self.fpdus.append(Fpdu(data[at + 2:at + 2 + length]))
            self.pieces.append(data[at:end + 4])
            crc = crc32c(data[at:end]) if with_crc else bytes(4)
            if data[end:end + 4] != crc:
                self.trouble.append("FPDU %d (%s): CRC %s, should be %s" % (
                    len(self.fpdus), self.fpdus[-1], data[end:end + 4].hex(), crc.hex()))
            if any(data[at + 2 + length:end]):
                self.trouble.append("FPDU %d: padding is not zero" % len(self.fpdus))
            at = end + 4


class Fpdu:
    """A ULPDU's headers (RFC 5041 4, RFC 5040 4)."""

    def __init__(self, ulpdu):
        ddp, rdmap = ulpdu[0], ulpdu[1]
        self.tagged, self.last = bool(ddp & 0x80), bool(ddp & 0x40)
        self.versions = ddp & 3, rdmap >> 6
        self.opcode = rdmap & 15
        self.queue = self.msn = self.offset = self.stag = None
        if self.tagged:
            self.stag, self.offset = struct.unpack_from(">IQ", ulpdu, 2)
            self.payload = ulpdu[14:]
        else:
            self.queue, self.msn, self.offset = struct.unpack_from(">III", ulpdu, 6)
            self.payload = ulpdu[18:]

    @property
    def name(self):
        """The name of its message."""
        return opcode_name(self.opcode)

    def __str__(self):
        where = "stag %#x to %#x" % (self.stag, self.offset) if self.tagged else \
            "queue %d msn %d offset %d" % (self.queue, self.msn, self.offset)
        return "%s%s, %s, %d bytes" % (self.name, "" if self.last else " (goes on)", where,
                                       len(self.payload))


def connections(path):
    """[(initiator's stream, responder's stream)] of the connections whose SYNs were captured."""
    found, open_now = [], {}
    for _, frame, _ in wire.frames(path):
        segment = _parse_segment(frame)
        if not segment:
            continue
        key, seq, flags, data = segment
        reverse = key[2:] + key[:2]
        if flags & 0x12 == 2 and (key not in open_now or open_now[key].isn != seq):
            open_now[key] = Stream(key[0], seq, frame)
            open_now.pop(reverse, None)
            found.append((key, open_now[key], None))
        elif flags & 0x12 == 0x12 and reverse in open_now and key not in open_now:
            open_now[key] = Stream(key[0], seq, frame)
            at = max(i for i, entry in enumerate(found) if entry[0] == reverse)
            found[at] = (reverse, found[at][1], open_now[key])
        elif data and key in open_now:
            open_now[key].add(seq, data)
    return [(here, there) for _, here, there in found if there]


def _segment_head(syn):
    """The start of a stream's segments up to TCP's sequence number, from its SYN."""
    return bytearray(syn[:_tcp_at(syn)[0] + 4])


def _build_frame(head, seq, ack, data):
    """A TCP segment with that head, without options and checksums."""
    frame = head + struct.pack(">IIBBHHH", seq & 0xffffffff, ack & 0xffffffff, 0x50, 0x18,
                               0xffff, 0, 0) + data
    _, length, start = _tcp_at(frame)
    struct.pack_into(">H", frame, length, len(frame) - start)
    return frame


def write_by_message(found, to):
    """Write connections as if each MPA frame and each FPDU had gone in a segment of its own.

    A dissector that looks at segments as they come loses step with FPDUs that lie across them,
    and then takes payload for headers, which may or may not make sense.
    """
    with open(to, "wb") as out:
        def write(frame):
            out.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)

        out.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, 1))
        for pair in found:
            for stream in pair:
                write(stream.syn)
            # Both MPA frames come before any FPDU, the request first.
            for first, last in ((0, 1), (1, None)):
                for stream, other in (pair, pair[::-1]):
                    seq = stream.isn + 1 + sum(map(len, stream.pieces[:first]))
                    for piece in stream.pieces[first:last]:
                        write(_build_frame(_segment_head(stream.syn), seq, other.isn + 1, piece))
                        seq += len(piece)


class Summary:
    """The contents of a capture: messages by source, frames, and errors."""

    def __init__(self, path):
        self.messages = collections.defaultdict(collections.Counter)
        self.frames = collections.Counter()
        # FPDUs by kind, where a message may have several.
        self.opcodes = collections.Counter()
        self.wrong = []
        self.fpdus = 0
        self.connections = connections(path)
        for here, there in self.connections:
            rest = here.read_frame(), there.read_frame()
            with_crc = bool((here.flags | there.flags) & 0x40)
            for stream, data in zip((here, there), rest):
                stream.read_fpdus(data, with_crc)
                self._count(stream)

    def _count(self, stream):
        if stream.kind:
            self.frames["reject" if stream.rejects else stream.kind] += 1
        for fpdu in stream.fpdus:
            self.fpdus += 1
            self.opcodes[fpdu.name] += 1
            if fpdu.versions != (1, 1):
                self.wrong.append("%s: versions %s" % (fpdu, fpdu.versions))
            if fpdu.last:
                self.messages[stream.source][fpdu.name] += 1
        self.wrong += stream.trouble
