#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends a limited number of malformed RoCE packets to a peer; runs in a guest.

usage: vattack.py [--v1 NETDEV MAC] [--seed N] [--qpn N]... SOURCE TARGET WHAT...
WHAT: opcodes   every opcode byte, every length up to its headers, right and wrong ICRC
      lengths   lengths in the header before the BTH, pad counts and payload sizes that contradict
                each other
      floods    random bytes, and valid headers with random fields
--v1: as frames of RoCEv1 that leave by NETDEV, to MAC

A packet with a right ICRC passes the first check, so it reaches the parser. The
ICRC is computed over the IP header that the kernel will send: the identification is 0 and
"don't fragment" is set, as Linux does for a UDP socket that discovers path MTUs.
"""

import argparse
import os
import random
import socket
import struct
import sys
import time
import zlib

PORT = 4791
HEADERS_MAX = 12 + 8 + 16 + 28 + 4 + 16  # more than the longest legal header chain


def icrc(ip, udp, transport):
    """Over 8 bytes of ones, the masked IP and UDP headers, the masked BTH and the rest."""
    ip, udp, bth = bytearray(ip), bytearray(udp), bytearray(transport)
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = 0xff
        ip[10:12] = b"\xff\xff"
    else:
        ip[0] |= 0x0f
        ip[1:4] = b"\xff\xff\xff"
        ip[7] = 0xff
    if udp:
        udp[6:8] = b"\xff\xff"
    if len(bth) > 4:
        bth[4] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(b"\xff" * 8 + ip + udp + bth)))


class Sender:
    """A raw socket. The kernel makes the IP header for IPv6, we make it for IPv4."""

    def __init__(self, source, target):
        self.v6 = ":" in target
        self.family = socket.AF_INET6 if self.v6 else socket.AF_INET
        self.source, self.target = (socket.inet_pton(self.family, a) for a in (source, target))
        kind = socket.IPPROTO_UDP if self.v6 else socket.IPPROTO_RAW
        self.sock = socket.socket(self.family, socket.SOCK_RAW, kind)
        self.to = (target, 0)
        self.sent = 0

    def ip_header(self, payload):
        """As it will be on the wire (IPv4: the checksum is the kernel's)."""
        if self.v6:
            return struct.pack(">IHBB", 6 << 28, payload, 17, 64) + self.source + self.target
        # The kernel replaces an identification of 0, but not this 0x7777.
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + payload, 0x7777, 0x4000, 64, 17, 0) \
            + self.source + self.target

    def send(self, transport, good=True, udp_length=None, sport=0xc000):
        """`transport` is BTH and what follows. The ICRC is added, and is right if `good`."""
        length = 8 + len(transport) + 4
        said = length if udp_length is None else udp_length
        udp = struct.pack(">HHHH", sport, PORT, said & 0xffff, 0)
        ip = self.ip_header(length)
        tail = icrc(ip, udp, transport) if good else os.urandom(4)
        datagram = udp + transport + tail
        self._out(ip, datagram)

    def send_raw(self, payload, sport=0xc000):
        """A datagram of any bytes, possibly shorter than an ICRC."""
        datagram = struct.pack(">HHHH", sport, PORT, 8 + len(payload), 0) + payload
        self._out(self.ip_header(len(datagram)), datagram)

    def _out(self, ip, datagram):
        if self.v6:
            # IPv6 requires a UDP checksum, and receivers may drop 0, so compute it.
            pseudo = self.source + self.target + struct.pack(">II", len(datagram), 17)
            words = pseudo + datagram + (b"\0" if len(datagram) % 2 else b"")
            total = sum(struct.unpack(">%dH" % (len(words) // 2), words))
            while total >> 16:
                total = (total & 0xffff) + (total >> 16)
            check = (~total & 0xffff) or 0xffff
            datagram = datagram[:6] + struct.pack(">H", check) + datagram[8:]
        else:
            datagram = ip + datagram
        for _ in range(50):
            try:
                self.sock.sendto(datagram, self.to)
                break
            except (BlockingIOError, OSError) as error:
                if getattr(error, "errno", 0) not in (11, 105):
                    break  # the kernel refuses it, for example as too long
                time.sleep(0.01)
        self.sent += 1
        if self.sent % 64 == 0:
            time.sleep(0.005)


def gid(address):
    """The GID of an IP address, as bytes."""
    if ":" in address:
        return socket.inet_pton(socket.AF_INET6, address)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


def grh(source, target, length, version=6, following=0x1b):
    """RoCEv1's header before the BTH, with `length` bytes behind it; GIDs as bytes."""
    return struct.pack(">IHBB", version << 28, length, following, 64) + source + target


class FrameSender:
    """The same packets as frames of RoCEv1: they have a GRH instead of the IP and UDP headers."""

    def __init__(self, netdev, mac, source, target):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.sock.bind((netdev, 0))
        self.ether = bytes.fromhex(mac.replace(":", "")) + self.sock.getsockname()[4] + \
            struct.pack(">H", 0x8915)
        self.gids = gid(source), gid(target)
        self.sent = 0

    def send(self, transport, good=True, udp_length=None, sport=0):
        """As Sender.send(). udp_length: as if there were a UDP header; without it, in the GRH."""
        length = len(transport) + 4 if udp_length is None else max(udp_length - 8, 0)
        head = grh(*self.gids, length & 0xffff)
        tail = icrc(head, b"", transport) if good else os.urandom(4)
        self._out(head + transport + tail + bytes([sport & 0xff]) * (sport & 3))

    def send_raw(self, payload, sport=0):
        """A frame of any bytes behind a valid GRH, or without one."""
        self._out(payload if sport & 1 else grh(*self.gids, len(payload)) + payload)

    def _out(self, frame):
        try:
            self.sock.send(self.ether + frame)
        except OSError:
            pass  # the kernel refuses it, for example as too long
        self.sent += 1
        if self.sent % 64 == 0:
            time.sleep(0.005)


def bth(opcode, qpn, psn, pad=0, se=0, version=0, pkey=0xffff, ack=1):
    """A base transport header."""
    return struct.pack(">BBHII", opcode, se << 7 | 1 << 6 | pad << 4 | version, pkey,
                       qpn, ack << 31 | psn & 0xffffff)


def opcodes(out, qpns, rng):
    """Every opcode at every header length."""
    for opcode in range(256):
        for qpn in qpns:
            for extra in (0, 1, 3, 4, 7, 8, 15, 16, 20, 27, 28, 31, 36, 44, HEADERS_MAX, 256):
                head = bth(opcode, qpn, rng.randrange(1 << 24), pad=rng.randrange(4))
                out.send(head + rng.randbytes(extra), good=True, sport=0xc000 | rng.randrange(99))
            out.send(bth(opcode, qpn, 0) + rng.randbytes(16), good=False)
    for length in range(0, 40):
        out.send_raw(rng.randbytes(length))


def lengths(out, qpns, rng):
    """Wrong lengths: DMA lengths, pads, truncations, jumbo payloads."""
    for qpn in qpns:
        for opcode in (0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x0a, 0x0b, 0x0c, 0x0d, 0x0f, 0x10,
                       0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x20, 0x26, 0x2a, 0x64, 0x65, 0x81):
            for psn in (0, 1, 0x7fffff, 0xffffff, rng.randrange(1 << 24)):
                for length in (0, 1, 0x7fffffff, 0x80000000, 0xffffffff, rng.randrange(1 << 32)):
                    reth = struct.pack(">QII", rng.choice((0, 2 ** 64 - 1, rng.getrandbits(64))),
                                       rng.getrandbits(32), length)
                    out.send(bth(opcode, qpn, psn, pad=3) + reth)
            for size in (0, 1, 2, 3, 255, 256, 257, 1023, 1024, 1025, 1400):
                for pad in range(4):
                    out.send(bth(opcode, qpn, rng.randrange(1 << 24), pad=pad)
                             + rng.randbytes(size))
            for said in (0, 7, 8, 12, 19, 20, 24, 65535):
                out.send(bth(opcode, qpn, 0) + rng.randbytes(64), udp_length=said)


def floods(out, qpns, rng):
    """Random bytes; valid headers with random fields; unsolicited ACKs."""
    for _ in range(1500):
        out.send_raw(rng.randbytes(rng.randrange(0, 1400)), sport=rng.randrange(1, 65536))
    for _ in range(4000):
        head = bth(rng.randrange(256), rng.choice(qpns), rng.randrange(1 << 24),
                   rng.randrange(4), rng.randrange(2), rng.choice((0, 0, 0, rng.randrange(16))),
                   rng.choice((0xffff, rng.randrange(1 << 16))), rng.randrange(2))
        out.send(head + rng.randbytes(rng.randrange(0, 128)))
    for qpn in qpns:
        for syndrome in range(256):
            out.send(bth(0x11, qpn, rng.randrange(1 << 24))
                     + struct.pack(">I", syndrome << 24 | rng.randrange(1 << 24)))


def main():
    """Send, and print how many."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--v1", nargs=2, metavar=("NETDEV", "MAC"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--qpn", type=lambda s: int(s, 0), action="append", default=[])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("what", nargs="+", choices=("opcodes", "lengths", "floods"))
    args = parser.parse_args()
    rng = random.Random(args.seed)
    out = FrameSender(*args.v1, args.source, args.target) if args.v1 else \
        Sender(args.source, args.target)
    # QP 0 and 1 are special, 0xffffff is multicast; the rest may or may not exist.
    qpns = args.qpn + [1, 0xffffff]
    for what in args.what:
        {"opcodes": opcodes, "lengths": lengths, "floods": floods}[what](out, qpns, rng)
    print("%d packets" % out.sent)


if __name__ == "__main__":
    sys.exit(main())
