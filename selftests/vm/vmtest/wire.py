# SPDX-License-Identifier: GPL-2.0
"""Checks captured RoCE packets without any of tern's code: pcap, headers, ICRC by zlib."""

import collections
import struct
import subprocess
import zlib

PORT = 4791
# RoCEv1: the type of its frames, and what follows its GRH.
ETHERTYPE = 0x8915
NEXT_BTH = 0x1b
# Protocols that tshark would find in random payloads, and report as malformed.
_GUESSES = ("rpcordma", "infiniband.eoib", "smb_direct", "nvme-rdma", "lnet", "iser",
            "infiniband_sdp", "fcoib", "smc")


def frames(path):
    """The Ethernet frames of a pcap file: (number, bytes, complete)."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, number = 24, 0
    while at + 16 <= len(data):
        _, _, kept, length = struct.unpack_from(order + "IIII", data, at)
        number += 1
        yield number, data[at + 16:at + 16 + kept], kept == length
        at += 16 + kept


def split(frame):
    """(IP header or GRH, UDP header, transport packet with ICRC) of a RoCE frame, or None.

    RoCEv1 has no UDP header: it is empty then.
    """
    at = 14
    kind = struct.unpack_from(">H", frame, 12)[0]
    if kind == 0x8100:
        kind, at = struct.unpack_from(">H", frame, 16)[0], 18
    if kind == 0x0800:
        size = (frame[at] & 15) * 4
        total = struct.unpack_from(">H", frame, at + 2)[0]
        protocol, end = frame[at + 9], at + total
    elif kind in (0x86dd, ETHERTYPE):
        size = 40
        protocol, end = frame[at + 6], at + 40 + struct.unpack_from(">H", frame, at + 4)[0]
    else:
        return None
    if kind == ETHERTYPE:
        return (frame[at:at + 40], b"", frame[at + 40:end]) if protocol == NEXT_BTH else None
    if protocol != 17 or struct.unpack_from(">H", frame, at + size + 2)[0] != PORT:
        return None
    udp = at + size
    return frame[at:udp], frame[udp:udp + 8], frame[udp + 8:end]


def icrc(ip, udp, transport):
    """The right value of the packet's last four bytes."""
    ip, udp, body = bytearray(ip), bytearray(udp), bytearray(transport[:-4])
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff
    else:
        ip[0] |= 0x0f
        ip[1] = ip[2] = ip[3] = ip[7] = 0xff
    if udp:
        udp[6] = udp[7] = 0xff
    body[4] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(b"\xff" * 8 + ip + udp + body)))


class Summary:
    """The contents of a capture: opcodes by IP source or source GID, and every wrong packet."""

    def __init__(self, path):
        self.opcodes = collections.defaultdict(collections.Counter)
        self.wrong = []
        self.packets = 0
        for number, frame, complete in frames(path):
            parts = split(frame)
            if not parts:
                continue
            self.packets += 1
            ip, udp, packet = parts
            source = ip[12:16] if ip[0] >> 4 == 4 else ip[8:24]
            if not complete or len(packet) < 16:
                self.wrong.append("frame %d: %d bytes of transport, captured %s" % (
                    number, len(packet), "whole" if complete else "in part"))
                continue
            self.opcodes[source][packet[0]] += 1
            if udp and struct.unpack(">H", udp[4:6])[0] != 8 + len(packet):
                self.wrong.append("frame %d: UDP length %d" % (number, struct.unpack(
                    ">H", udp[4:6])[0]))
            if len(packet) % 4:
                self.wrong.append("frame %d: %d bytes are no multiple of 4" % (
                    number, len(packet)))
            if icrc(ip, udp, packet) != packet[-4:]:
                self.wrong.append("frame %d: opcode %#x, %d bytes, ICRC %s, should be %s" % (
                    number, packet[0], len(packet), packet[-4:].hex(),
                    icrc(ip, udp, packet).hex()))


def tshark(path, display_filter, fields=("frame.number",), limit_s=120):
    """Rows of fields of the packets that match a display filter."""
    command = ["tshark", "-n", "-r", path, "-Y", display_filter, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    for guess in _GUESSES:
        command += ["--disable-protocol", guess]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=limit_s)
    if done.returncode:
        raise RuntimeError("tshark: " + done.stderr.decode("utf-8", "replace")[-500:])
    return [line.split("\t") for line in done.stdout.decode("utf-8", "replace").splitlines()]
