# SPDX-License-Identifier: GPL-2.0
"""What is measured: subjects, paths, cases, and their combinations."""

from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Subject:
    """A driver. link is the type of its RDMA links, or None for TCP."""
    name: str
    link: str = None
    module: str = None
    by_cm: bool = False     # connects by rdma_cm only
    crc: str = "Y"          # tern's parameter iwarp_crc


SUBJECTS = {subject.name: subject for subject in (
    Subject("tern_roce", "tern_roce", "tern"),
    Subject("tern_iwarp", "tern_iwarp", "tern", by_cm=True),
    Subject("iwarp-nocrc", "tern_iwarp", "tern", by_cm=True, crc="N"),
    Subject("rxe", "rxe", "rdma_rxe"),
    Subject("siw", "siw", "siw", by_cm=True),
    Subject("tcp"),
)}

# veth: between two namespaces, across a pair of interfaces. host: both programs on one device.
PATHS = ("veth", "host")
_ON_HOST = ("tern_roce", "tern_iwarp", "rxe", "tcp")
# Those measured with several pairs at once. The other two behave like these.
_SCALED = ("tern_roce", "tern_iwarp", "rxe", "tcp")


@dataclass(frozen=True)
class Case:
    """One operation. The figure is `scale` times operations a second, or a time: the inverse."""
    name: str
    title: str
    tool: str
    size: int
    unit: str
    first: int              # operations of the shortest run
    options: str = ""
    batch: int = 1          # operations come in multiples of this
    tcp: bool = False       # iperf3 has it, too
    scaled: bool = False    # by several pairs at once, too

    def figure(self, per_second):
        """The figure for a rate."""
        if self.unit == "us":
            return 1e6 / per_second / 2     # an operation is a round trip
        return per_second * self.size / 1e6 if self.unit == "MB/s" else per_second / 1e6


# -N: no time stamp for each operation.
CASES = (
    Case("write-64K", "WRITE 64 KiB", "ib_write_bw", 64 * KIB, "MB/s", 20, "-N", tcp=True,
         scaled=True),
    Case("write-1M", "WRITE 1 MiB", "ib_write_bw", MIB, "MB/s", 5, "-N", tcp=True),
    Case("read-64K", "READ 64 KiB", "ib_read_bw", 64 * KIB, "MB/s", 20, "-N"),
    Case("send-64K", "SEND 64 KiB", "ib_send_bw", 64 * KIB, "MB/s", 20, "-N"),
    Case("write-64", "WRITE 64 B, 16 a post", "ib_write_bw", 64, "M msg/s", 1600, "-N -l 16",
         batch=16, scaled=True),
    Case("lat-2", "WRITE 2 B", "ib_write_lat", 2, "us", 500),
)
BY_NAME = {case.name: case for case in CASES}


@dataclass(frozen=True)
class Point:
    """One cell of the table."""
    subject: str
    path: str
    case: str
    pairs: int


def points(subject, pairs):
    """All points of a subject, in the order in which they are measured."""
    for path in PATHS:
        if path == "host" and subject not in _ON_HOST:
            continue
        for case in CASES:
            if subject == "tcp" and not case.tcp:
                continue
            for count in pairs:
                if count == 1 or case.scaled and subject in _SCALED:
                    yield Point(subject, path, case.name, count)


def command(case, subject, device, address=""):
    """A program's command line, which `pairs` fills in. With an address: the client's."""
    if not subject.link:
        return (["iperf3", "-c", address, "-p", "{port}", "-l", str(case.size), "-n", "{bytes}"]
                if address else ["iperf3", "-s", "-1", "-p", "{port}"])
    return ([case.tool, "-F", "-d", device, "-p", "{port}", "-s", str(case.size), "-n", "{n}"] +
            case.options.split() + ["-R"] * subject.by_cm + [address] * bool(address))
