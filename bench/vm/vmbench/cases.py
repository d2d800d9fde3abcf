# SPDX-License-Identifier: GPL-2.0
"""What is measured: subjects, links, and the table of cases.

A case is one figure of one subject: a program, its options, and where it runs. --cases selects it
by its name, which is also in samples.csv. The wanted ratios are in goals.py.
"""

from dataclasses import dataclass

# As the rig names them.
LINKS = {"plain": "stream", "tap": "bridge"}
MTUS = (1500, 9000)

# The laboratory's pair of drivers, or None for a subject without a driver.
SUBJECTS = {"tern_roce": "tern-tern", "tern_iwarp": "iwarp-iwarp", "iwarp-nocrc": "iwarp-iwarp",
            "rxe": "rxe-rxe", "siw": "siw-siw", "tcp": None, "udp": None, "memcpy": None}
RDMA = ("tern_roce", "tern_iwarp", "rxe", "siw")
ROCE = ("tern_roce", "rxe")
# tern_iwarp without CRCs, as siw (by default) and TCP are.
NO_CRC = "iwarp-nocrc"
BY_CM = ("tern_iwarp", NO_CRC, "siw")
# rxe of another kernel, in guests of its own.
RXE_612 = "rxe-6.12"

KIB, MIB = 1 << 10, 1 << 20
CURVE = (2, 16, 64, 256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
QPS = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class Case:
    """One figure. `kind` is a function of kinds.py."""
    name: str
    title: str
    kind: str
    subjects: tuple = RDMA
    tool: str = ""
    size: int = 0
    options: str = ""
    first: int = 20         # operations (per QP) of the short run, 0: no such run (measure.py)
    batch: int = 1          # operations come in multiples of this
    timed: bool = False     # the program gets seconds, not operations
    qps: int = 1
    seconds: float = 1.5    # that a run should take
    local: bool = False     # both programs in guest a
    links: tuple = tuple(LINKS)
    mtus: tuple = MTUS
    booted: int = 1         # virtual CPUs of the guests
    vcpus: tuple = (1,)     # and how many of them are online
    rounds: int = 99        # at most
    quick: bool = False

    @property
    def spins(self):
        """Does one of its programs poll all the time? With one CPU that measures the scheduler."""
        if self.kind == "udp":
            return "--nonblocked" in self.options
        return self.kind == "fair" or bool(self.tool) and "-e" not in self.options.split()


def size_name(size):
    """65536: 64K."""
    for unit, letter in ((MIB, "M"), (KIB, "K")):
        if size >= unit:
            return "%d%s" % (size // unit, letter)
    return str(size)


# Equal, as a stream needs time to reach its speed.
_BULK_SECONDS = 2.5


def _bulk():
    for verb, subjects in (("write", RDMA + (NO_CRC,)), ("read", RDMA + (NO_CRC,)),
                           ("send", ROCE)):
        for size, first in ((64 * KIB, 20), (MIB, 5)):
            yield Case("%s-%s" % (verb, size_name(size)),
                       "%s, %siB" % (verb.upper(), size_name(size)), "bandwidth", subjects,
                       "ib_%s_bw" % verb, size, first=first, seconds=_BULK_SECONDS,
                       quick=size == 64 * KIB)
    yield Case("tcp", "TCP, one stream (iperf3)", "tcp", ("tcp",), size=64 * KIB, first=64,
               seconds=_BULK_SECONDS, quick=True)


def _short():
    one_mtu = (1500,)
    # With 128 in flight, perftest's default, a guest's batches are a large part of them: then the
    # rate also depends on round trips.
    for batch, depth, name in ((16, 128, "rate-64"), (64, 128, "rate-64-l64"),
                               (16, 512, "rate-64-t512")):
        yield Case(name, "WRITE, 64 B, %d a post, %d under way" % (batch, depth), "rate", RDMA,
                   "ib_write_bw", 64, "-l %d -t %d" % (batch, depth), first=40 * batch,
                   batch=batch, mtus=one_mtu, quick=name == "rate-64")
    yield Case("lat-2", "WRITE, 2 B, half a round trip", "latency", RDMA, "ib_write_lat", 2,
               first=200, mtus=one_mtu, quick=True)
    for name, how, options in (("udp", "sleeping", ""),
                               ("udp-spin", "spinning", "--nonblocked")):
        yield Case(name, "UDP, 14 B, half a round trip (sockperf, %s)" % how, "udp", ("udp",),
                   options=options, first=1, timed=True, mtus=one_mtu, quick=True)
    for name, what in (("alone", "alone"), ("bulk", "beside 4 WRITEs of 64 KiB under way")):
        yield Case("fair-" + name, "WRITE, 2 B, p99, " + what, "fair", mtus=one_mtu,
                   options="alone" if name == "alone" else "beside-bulk", first=0, timed=True,
                   seconds=2)


def _local():
    here = {"local": True, "links": ("plain",), "mtus": (1500,)}
    yield Case("local-write-64K", "same host: WRITE, 64KiB", "bandwidth", RDMA, "ib_write_bw",
               64 * KIB, quick=True, **here)
    yield Case("local-rate-64", "same host: WRITE, 64 B, 16 a post", "rate", RDMA, "ib_write_bw",
               64, "-l 16", first=640, batch=16, quick=True, **here)
    # Two programs that spin on one CPU would measure its scheduler.
    yield Case("local-lat-2", "same host, 2 vCPUs: WRITE, 2 B, half a round trip", "latency",
               RDMA, "ib_write_lat", 2, first=200, booted=2, vcpus=(2,), **here)
    yield Case("memcpy", "memcpy() of 64KiB in a guest", "memcpy", ("memcpy",), size=64 * KIB,
               seconds=2, first=1, timed=True, quick=True, **here)


def _sleeping():
    """Judged with one CPU. Not WRITE: perftest's latency and its rdma_cm server cannot sleep."""
    every = RDMA + (NO_CRC,)
    # Over iWARP perftest's sender sleeps for ever if the receiver falls behind by all its RECVs, of
    # which a short run has one per message: this is more than TCP holds.
    for size, first in ((64 * KIB, 600), (MIB, 60)):
        yield Case("sleep-" + size_name(size), "SEND, %siB, programs that sleep" % size_name(size),
                   "bandwidth", every, "ib_send_bw", size, "-e", first=first,
                   seconds=_BULK_SECONDS, quick=size == 64 * KIB)
    yield Case("sleep-rate-64", "SEND, 64 B, 16 a post, programs that sleep", "rate", ROCE,
               "ib_send_bw", 64, "-l 16 -e", first=640, batch=16, mtus=(1500,), quick=True)
    yield Case("sleep-lat-2", "SEND, 2 B, half a round trip, programs that sleep", "latency", RDMA,
               "ib_send_lat", 2, "-e", first=200, mtus=(1500,), quick=True)
    yield Case("sleep-local-64K", "same host: SEND, 64KiB, programs that sleep", "bandwidth", RDMA,
               "ib_send_bw", 64 * KIB, "-e", first=600, local=True, links=("plain",), mtus=(1500,),
               quick=True)


def _scaling():
    plain = {"links": ("plain",), "mtus": (1500,)}
    for qps in QPS:
        # A busy guest may answer late: retry after 1 s.
        yield Case("qps-16K-%d" % qps, "WRITE, 16KiB, %d QPs" % qps, "bandwidth", RDMA,
                   "ib_write_bw", 16 * KIB, "-q %d -u 18" % qps, qps=qps, rounds=3,
                   first=max(5, 80 // qps), **plain)
        yield Case("qps-64-%d" % qps, "WRITE, 64 B, 16 a post, %d QPs" % qps, "rate", RDMA,
                   "ib_write_bw", 64, "-l 16 -q %d -u 18" % qps, batch=16, qps=qps, rounds=3,
                   first=max(16, 640 // qps // 16 * 16), **plain)
    tern = {"booted": 2, "vcpus": (1, 2), "subjects": RDMA[:2], **plain}
    yield Case("smp-write-64K", "WRITE, 64KiB", "bandwidth", tool="ib_write_bw", size=64 * KIB,
               **tern)
    yield Case("smp-rate-64", "WRITE, 64 B, 16 a post", "rate", tool="ib_write_bw", size=64,
               options="-l 16", first=640, batch=16, **tern)
    yield Case("smp-local-64K", "same host: WRITE, 64KiB", "bandwidth", tool="ib_write_bw",
               size=64 * KIB, local=True, **tern)
    yield Case("smp-write-64K-q8", "WRITE, 64KiB, 8 QPs", "bandwidth", tool="ib_write_bw",
               size=64 * KIB, options="-q 8", qps=8, first=5, **tern)
    # Two guests with two CPUs each may share two cores, so this is one guest.
    yield Case("smp-veth-64K", "across a veth pair: WRITE, 64KiB", "veth", tool="ib_write_bw",
               size=64 * KIB, local=True, **tern)
    # Here no program spins.
    yield Case("smp-sleep-64K", "SEND, 64KiB, programs that sleep", "bandwidth",
               tool="ib_send_bw", size=64 * KIB, options="-e", first=600, **tern)
    yield Case("smp-veth-sleep-64K", "across a veth pair: SEND, 64KiB, programs that sleep",
               "veth", tool="ib_send_bw", size=64 * KIB, options="-e", first=600, local=True,
               **tern)
    yield Case("smp-tcp", "TCP, one stream (iperf3)", "tcp", size=64 * KIB, first=64,
               **{**tern, "subjects": ("tcp",)})


def _curves():
    for size in CURVE:
        yield Case("curve-%s" % size_name(size), "WRITE, %s" % size_name(size), "bandwidth",
                   RDMA, "ib_write_bw", size, mtus=(1500,), rounds=3, seconds=0.8,
                   first=20 if size < MIB else 5)


def _calls():
    for name, size, batch in (("calls-64", 64, 1), ("calls-64-l16", 64, 16),
                              ("calls-64K", 64 * KIB, 1)):
        yield Case(name, "system calls a message: WRITE, %s, %d a post" % (size_name(size), batch),
                   "calls", RDMA, "ib_write_bw", size, "-l %d" % batch if batch > 1 else "",
                   first=16, batch=batch, links=("plain",), mtus=(1500,), rounds=2)


CASES = tuple(case for group in (_bulk, _short, _local, _sleeping, _calls, _scaling,
                                           _curves)
              for case in group())
BY_NAME = {case.name: case for case in CASES}
