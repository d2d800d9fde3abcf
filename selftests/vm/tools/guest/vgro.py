#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Shows which packets GRO merges if they differ in a field of the IP header.

usage: vgro.py NETDEV NETNS NETDEV_THERE FAMILY FIELD
Runs as root, in a namespace with a veth pair into NETNS with the addresses of vmtest/netns.py.
FIELD: none, or the field that differs in every second packet. Prints how many packets a sniffer in
NETNS has seen, then the field of each, in order.
"""

import ctypes
import os
import socket
import struct
import sys

import vattack

PACKETS = 32
ETH_P = {4: 0x0800, 6: 0x86dd}
CLONE_NEWNET = 0x40000000
# QP numbers reach this one last, so no QP has it.
QPN = 0xfffff0
# FIELD: its offset in the IP header, and the value in every second packet.
FIELDS = {4: {"ttl": (8, 63), "tos": (1, 0x20), "df": (6, 0)},
          6: {"hops": (7, 63), "class": (0, 0x62)}}


class Packets(vattack.Sender):
    """The frames, whose IP headers differ."""

    def __init__(self, family, field, ether):
        addresses = ("10.88.0.1", "10.88.0.2") if family == 4 else ("fd88::1", "fd88::2")
        super().__init__(*addresses)
        self.sock.close()
        self.family, self.field, self.ether = family, FIELDS[family].get(field), ether
        self.at = 0
        self.frames = []

    def ip_header(self, payload):
        ip = bytearray(super().ip_header(payload))
        if self.family == 4:
            ip[4:6] = struct.pack(">H", 0x1000 + self.at)
        if self.field and self.at & 1:
            ip[self.field[0]] = self.field[1]
        if self.family == 4:
            words = sum(struct.unpack(">10H", ip))
            words = (words & 0xffff) + (words >> 16)
            ip[10:12] = struct.pack(">H", ~((words & 0xffff) + (words >> 16)) & 0xffff)
        return bytes(ip)

    def _out(self, ip, datagram):
        self.frames.append(self.ether + ip + datagram)
        self.at += 1


def enter(netns_file):
    """New sockets will be in that namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(netns_file.fileno(), CLONE_NEWNET):
        sys.exit("setns: " + os.strerror(ctypes.get_errno()))


def listen_there(netns, netdev):
    """A sniffer's socket in another namespace."""
    with open("/proc/self/ns/net", "rb") as here, open("/run/netns/" + netns, "rb") as there:
        enter(there)
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        enter(here)
    sniffer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sniffer.bind((netdev, 3))
    sniffer.settimeout(2 * float(os.environ.get("RIG_SLOW") or 1))
    return sniffer


def seen_of(sniffer, family, bytes_sent):
    """The IP headers seen, until the payloads behind them are complete."""
    header = 20 if family == 4 else 40
    seen = []
    try:
        while bytes_sent > 0:
            frame = sniffer.recv(1 << 16)
            ip = frame[14:14 + header]
            if frame[12:14] == struct.pack(">H", ETH_P[family]) and \
                    struct.unpack_from(">H", frame, 14 + header + 2)[0] == vattack.PORT:
                # Merged packets have one UDP header.
                bytes_sent -= len(frame) - 14 - header - 8
                seen.append(ip)
    except TimeoutError:
        pass
    return seen


def main():
    """Send, and print what was seen."""
    netdev, netns, there, family, field = sys.argv[1:]
    family = int(family)
    sniffer = listen_there(netns, there)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out:
        out.bind((netdev, 0))
        ether = sniffer.getsockname()[4] + out.getsockname()[4] + struct.pack(">H", ETH_P[family])
        packets = Packets(family, field, ether)
        for psn in range(PACKETS):
            packets.send(vattack.bth(0x04, QPN, psn) + bytes(64))
        for frame in packets.frames:
            out.send(frame)
    header = 14 + (20 if family == 4 else 40) + 8
    seen = seen_of(sniffer, family, sum(len(frame) - header for frame in packets.frames))
    print(len(seen), *("%02x" % ip[packets.field[0]] for ip in seen if packets.field))


if __name__ == "__main__":
    sys.exit(main())
