#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""vdump.py DEVICE [SECONDS]: the raw dumps of all its objects (uapi/tern-dump.h), decoded, as JSON.

With SECONDS: dumps again and again for so long, and prints the last only.
"""

import errno
import json
import socket
import struct
import sys
import time

_NETLINK_RDMA = 20
_NLDEV = 5 << 10
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_GET = 1
_DEV_INDEX, _DEV_NAME, _RAW = 1, 2, 85
# The command, the attribute of the table, of an entry; the members behind the header.
_QUEUE = "{0}.wqes {0}.prod {0}.taken {0}.retired "
KINDS = {
    "qp": (19, 19, 20, "=IIBBHI4I4I4IBBH5I",
           "qpn dest_qpn type state flags marks " + _QUEUE.format("sq") + _QUEUE.format("rq") +
           "unsent next_psn oldest_psn window_packets retries_left rnr_retries_left path_mtu "
           "expected_psn backlog_packets kept_packets terminate ahead_packets"),
    "cq": (20, 35, 36, "=8I", "cqes prod cons arm flags event_count event_period_us event_pending"),
    "mr": (21, 40, 41, "=QQIBBH4I",
           "iova length access kind state block_shift blocks bound_windows odp_tables reserved"),
    "srq": (25, 88, 89, "=II4III", "srqn limit " + _QUEUE.format("rq") + "max_sge is_xrc"),
}
_HDR = struct.Struct("=HHI")


def _attributes(data):
    """[(type, payload)] of a run of netlink attributes."""
    found, at = [], 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        found.append((kind & 0x3fff, data[at + 4:at + size]))
        at += max(size + 3 & ~3, 4)
    return found


def _dump(command, attributes=b""):
    """The attributes of all messages that answer a dump. OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_RDMA) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(attributes), _NLDEV | command, _REQUEST_DUMP,
                                 1, 0) + attributes)
        found = []
        while True:
            data, at = netlink.recv(1 << 16), 0
            while at < len(data):
                size, kind = struct.unpack_from("=IH", data, at)
                if kind in (_ERROR, _DONE):
                    code = -struct.unpack_from("=i", data, at + 16)[0]
                    if code > 0:
                        raise OSError(code, "netlink")
                    return found
                found.append(_attributes(data[at + 16:at + size]))
                at += size + 3 & ~3


def index_of(device):
    """ib_core's number of the device."""
    for message in map(dict, _dump(_GET)):
        if message[_DEV_NAME].rstrip(b"\0").decode() == device:
            return struct.unpack("=I", message[_DEV_INDEX])[0]
    sys.exit("no device " + device)


def decode(kind, raw):
    """{member: value}, checked against what the header says of itself."""
    number = list(KINDS).index(kind) + 1
    members = struct.Struct(KINDS[kind][3])
    found, version, size = _HDR.unpack_from(raw)
    if (found, version) != (number, 1) or size != len(raw) or size < _HDR.size + members.size:
        sys.exit("%s: kind %d, version %d, %d of %d bytes" % (kind, found, version, len(raw), size))
    return dict(zip(KINDS[kind][4].split(), members.unpack_from(raw, _HDR.size)))


def objects(index, kind):
    """All objects of a kind."""
    command, table, entry = KINDS[kind][:3]
    raws = [value for message in _dump(command, struct.pack("=HHI", 8, _DEV_INDEX, index))
            for name, entries in message if name == table
            for name, members in _attributes(entries) if name == entry
            for name, value in _attributes(members) if name == _RAW]
    return [decode(kind, raw) for raw in raws]


def all_objects(index):
    """{kind: [objects]}; None: this kernel does not dump the kind."""
    found = {}
    for kind in KINDS:
        try:
            found[kind] = objects(index, kind)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            found[kind] = None
    return found


def main(device, seconds):
    """The program."""
    index, until = index_of(device), time.monotonic() + seconds
    while True:
        found = all_objects(index)
        if time.monotonic() >= until:
            break
    print(json.dumps(found))


if not 2 <= len(sys.argv) <= 3:
    sys.exit(__doc__)
try:
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) == 3 else 0)
except OSError as error:
    sys.exit(error.strerror if error.errno is None else errno.errorcode[error.errno])
