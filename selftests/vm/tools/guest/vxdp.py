#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""vxdp.py NETDEV: attaches an XDP program in the netdev's driver that passes all packets."""

import ctypes
import os
import socket
import struct
import sys

_SYS_BPF = 321
_BPF_PROG_LOAD = 5
_BPF_PROG_TYPE_XDP = 6
# r0 = XDP_PASS; exit
_PROGRAM = struct.pack("<BBhiBBhi", 0xb7, 0, 0, 2, 0x95, 0, 0, 0)
_RTM_SETLINK = 19
_NLM_F_REQUEST_ACK = 5
_IFLA_XDP, _IFLA_XDP_FD, _IFLA_XDP_FLAGS = 43, 1, 3
_NLA_F_NESTED = 0x8000
_XDP_FLAGS_DRV_MODE = 4


def _load():
    """The program's file descriptor."""
    program = ctypes.create_string_buffer(_PROGRAM)
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQ", _BPF_PROG_TYPE_XDP, len(_PROGRAM) // 8,
                       ctypes.addressof(program), ctypes.addressof(licence)).ljust(128, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(_SYS_BPF, _BPF_PROG_LOAD, ctypes.create_string_buffer(attr), len(attr))
    if fd < 0:
        sys.exit("bpf: " + os.strerror(ctypes.get_errno()))
    return fd


def _attr(kind, data):
    return struct.pack("<HH", 4 + len(data), kind) + data


def _attach(netdev, fd):
    xdp = _attr(_IFLA_XDP_FD, struct.pack("<i", fd)) + \
        _attr(_IFLA_XDP_FLAGS, struct.pack("<I", _XDP_FLAGS_DRV_MODE))
    body = struct.pack("<BxHiII", 0, 0, socket.if_nametoindex(netdev), 0, 0) + \
        _attr(_IFLA_XDP | _NLA_F_NESTED, xdp)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("<IHHII", 16 + len(body), _RTM_SETLINK, _NLM_F_REQUEST_ACK, 1, 0)
                     + body)
        error = -struct.unpack_from("<i", netlink.recv(4096), 16)[0]
    if error:
        sys.exit("%s: %s" % (netdev, os.strerror(error)))


if len(sys.argv) != 2:
    sys.exit(__doc__)
_attach(sys.argv[1], _load())
