#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends RoCE packets as a sender that is not the peer; runs in a guest.

usage: vforge.py datagrams TARGET [QPN [N]]  by an ordinary UDP socket, as any user
       vforge.py claims NETDEV MAC TARGET    frames with TARGET as their source address
       vforge.py frames NETDEV MAC SOURCE TARGET KIND
                                             frames of RoCEv1 that are wrong in one way: see FRAMES
"""

import socket
import struct
import sys

import vattack

PACKETS = 16
# QP numbers reach this one last, so no QP has it.
QPN = 0xfffff0


def datagrams(target, qpn=QPN, packets=PACKETS):
    """The kernel makes the IP header, whose contents are known: see vattack.py."""
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, vattack.PORT))
            source = probe.getsockname()[0]
        sock.bind((source, 0))
        if family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        ends = [socket.inet_pton(family, address) for address in (source, target)]
        ready = []
        for psn in range(PACKETS):
            transport = vattack.bth(0x04, int(qpn), psn) + bytes(16)
            length = 8 + len(transport) + 4
            if family == socket.AF_INET:
                ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0)
            else:
                ip = struct.pack(">IHBB", 6 << 28, length, 17, 64)
            udp = struct.pack(">HHHH", sock.getsockname()[1], vattack.PORT, length, 0)
            ready.append(transport + vattack.icrc(ip + b"".join(ends), udp, transport))
        for n in range(int(packets)):
            try:
                sock.sendto(ready[n % PACKETS], (target, vattack.PORT))
            except PermissionError:
                pass  # a firewall refused it


def claims(netdev, mac, target):
    """Source and destination are the same."""
    address = socket.inet_pton(socket.AF_INET6, target)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out:
        out.bind((netdev, 0))
        ether = bytes.fromhex(mac.replace(":", "")) + out.getsockname()[4] + b"\x86\xdd"
        for psn in range(PACKETS):
            transport = vattack.bth(0x04, QPN, psn) + bytes(16)
            length = 8 + len(transport) + 4
            ip = struct.pack(">IHBB", 6 << 28, length, 17, 64) + 2 * address
            udp = struct.pack(">HHHH", 0xc000, vattack.PORT, length, 0)
            out.send(ether + ip + udp + transport + vattack.icrc(ip, udp, transport))


def _grh(gids, length, **wrong):
    return vattack.grh(*gids, length, **wrong)


def _whole(gids, transport, **wrong):
    """The frame's contents with a right ICRC."""
    head = _grh(gids, len(transport) + 4, **wrong)
    return head + transport + vattack.icrc(head, b"", transport)


def _false(gids, transport):
    frame = _whole(gids, transport)
    return frame[:-1] + bytes([frame[-1] ^ 1])


# What is behind the Ethernet header, from the GIDs and from BTH and payload.
FRAMES = {
    "right": _whole,
    "padded": lambda gids, body: _whole(gids, body) + bytes(22),
    "version 4": lambda gids, body: _whole(gids, body, version=4),
    "version 7": lambda gids, body: _whole(gids, body, version=7),
    "another next header": lambda gids, body: _whole(gids, body, following=17),
    "a wrong ICRC": _false,
    "no length": lambda gids, body: _grh(gids, 0) + body + bytes(4),
    "a length below BTH and ICRC": lambda gids, body: _grh(gids, 15) + body + bytes(4),
    "a length beyond the frame": lambda gids, body: _grh(gids, len(body) + 5) + body + bytes(4),
    "the longest length": lambda gids, body: _grh(gids, 65535) + body + bytes(4),
    "a GRH alone": lambda gids, body: _grh(gids, 0),
    "half a GRH": lambda gids, body: _grh(gids, len(body) + 4)[:20],
    "no byte": lambda gids, body: b"",
    "the receiver's GID as its source": lambda gids, body: _whole((gids[1], gids[1]), body),
}


def frames(netdev, mac, source, target, kind):
    """PACKETS of a kind."""
    gids = vattack.gid(source), vattack.gid(target)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out:
        out.bind((netdev, 0))
        ether = bytes.fromhex(mac.replace(":", "")) + out.getsockname()[4] + b"\x89\x15"
        for psn in range(PACKETS):
            out.send(ether + FRAMES[kind](gids, vattack.bth(0x04, QPN, psn) + bytes(16)))


if __name__ == "__main__":
    {"datagrams": datagrams, "claims": claims, "frames": frames}[sys.argv[1]](*sys.argv[2:])
