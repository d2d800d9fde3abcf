# SPDX-License-Identifier: GPL-2.0
"""Common code of vhostile.py's cases: vtarget's two ports, connections, verdicts.

At the end of each case the server must know that the connection has ended, and must not have
written outside the memory that it may write.
"""

import os
import socket
import struct
import sys
import time

import iwpeer as iw

PORT, CONTROL_PORT = 7300, 7301
SLOW = float(os.environ.get("RIG_SLOW") or 1)
NOTHING, READ_FROM_PEER, ATOMIC_AT_PEER, SEND_TO_PEER, FAIL_A_SEND = range(5)
RECEIVES, RECEIVE_BYTES, SINK_BYTES, DEPTH = 16, 256, 1000, 4
TOP = 1 << 64
RTR = iw.fpdu(iw.tagged(iw.WRITE, 0, 0))


def pause(seconds):
    """Give the server time for a step that we cannot observe."""
    time.sleep(seconds * SLOW)


class Wrong(Exception):
    """The server did something wrong; the text says what."""


class Region:
    """A region, as the server's private data describe it."""

    def __init__(self, data):
        self.va, self.bytes, self.key = struct.unpack("<QQI4x", data)
        self.end = self.va + self.bytes


class Server:
    """vtarget's two ports, and the counts of the cases."""

    def __init__(self, address, seed):
        self.address, self.seed = address, seed
        self.number = self.failed = 0
        self._control = socket.create_connection((address, CONTROL_PORT), 10 * SLOW)
        self._lines = self._control.makefile("rw")
        with self.connect() as peer:
            (self.open, self.read, self.write, self.none, self.alien,
             self.dead) = self.regions = peer.regions

    # -- vtarget's control port

    def ask(self, question):
        """{name: number}"""
        self._lines.write(question + "\n")
        self._lines.flush()
        return {name: int(n) for name, n in (w.split("=") for w in self._lines.readline().split())}

    def wait_live(self, count, limit_s):
        """Wait until that many connections are left."""
        deadline = time.monotonic() + limit_s * SLOW
        while True:
            live = self.ask("live")["live"]
            if live == count:
                return
            if time.monotonic() > deadline:
                raise Wrong("%d connections live, should be %d" % (live, count))
            time.sleep(0.02)

    def end(self):
        """Tell vtarget to end."""
        self._lines.write("end\n")
        self._lines.flush()

    # -- connections

    def begin(self, **how):
        """A TCP connection without MPA."""
        return iw.Peer(self.address, PORT, 10 * SLOW, **how)

    def connect(self, receives=RECEIVES, job=NOTHING, depth=DEPTH, rtr=True, rcvbuf=None,
                maxseg=None, **how):
        """A connection after the MPA handshake and the first message."""
        peer = self.begin(rcvbuf=rcvbuf, maxseg=maxseg)
        peer.send(iw.mpa(private=bytes([receives, job, depth]), **how))
        peer.flags, peer.revision, peer.ird, peer.ord, private = peer.reply()
        peer.regions = [Region(private[at:at + 24]) for at in range(0, 144, 24)]
        peer.markers = bool(how.get("flags", 0) & iw.MARKERS)
        if rtr:
            peer.send(RTR)
        return peer

    # -- verdicts

    def case(self, name, work, inside=0):
        """Run work(). Then no connection is left, and `inside` bytes (None: any) have changed."""
        self.number += 1
        why = ""
        try:
            work()
            self.wait_live(0, 4)
        except (Wrong, OSError, ValueError, iw.Ended, struct.error) as error:
            why = "%s: %s" % (type(error).__name__, error)
        try:
            now = self.ask("check")
            if now["outside"]:
                why += "; %(outside)d bytes changed outside, the first at %(first)d" % now
            if not why and inside is not None and now["inside"] != inside:
                why += "; %d bytes changed, not %d" % (now["inside"], inside)
        except (OSError, ValueError) as error:
            why += "; vtarget does not answer: %s" % error
        print("%sok %d %s" % ("not " if why else "", self.number, name))
        if why:
            self.failed += 1
            print("# " + why)
        sys.stdout.flush()

    @staticmethod
    def expect_end(peer, codes=()):
        """The stream ends by a Terminate with one of these codes, or without one if there are none."""
        got, how = peer.end()
        said = [segment.code for segment in got if segment.opcode == iw.TERMINATE]
        text = "got %s, then %s" % (" ".join("%#06x" % code for code in said) or "no Terminate",
                                    how)
        if how == "silence":
            raise Wrong("the stream goes on; " + text)
        if len(said) > 1 or (said[0] not in codes if said else codes):
            raise Wrong("%s instead of %s" % (text, " or ".join("%#06x" % c for c in codes)
                                              or "nothing"))
        return got

    def refused(self, name, codes, *ulpdus, inside=0, **how):
        """A case: these segments, the last of which is wrong, are answered by a Terminate."""
        codes = (codes,) if isinstance(codes, int) else codes

        def work():
            with self.connect(**how) as peer:
                peer.send(b"".join(u if isinstance(u, bytearray) else iw.fpdu(u) for u in ulpdus))
                self.expect_end(peer, codes)
        self.case(name, work, inside)

    def quoted(self, name, code, quote, ulpdu):
        """A case: the Terminate for this segment quotes that much after its code."""
        def work():
            with self.connect() as peer:
                peer.send(iw.fpdu(ulpdu))
                said = self.expect_end(peer, (code,))[-1].payload[2:]
                if said != quote:
                    raise Wrong("the Terminate quotes %s, not %s" % (said.hex(), quote.hex()))
        self.case(name, work, None)

    def accepted(self, name, *ulpdus, inside=0, **how):
        """A case: these segments are valid: no Terminate before or after our FIN."""
        def work():
            with self.connect(**how) as peer:
                peer.send(b"".join(iw.fpdu(u) for u in ulpdus))
                peer.finish()
                self.expect_end(peer)
        self.case(name, work, inside)

    def closed(self, name, *pieces, finish=False):
        """A case: an invalid start-up frame is not answered."""
        def work():
            with self.begin() as peer:
                for piece in pieces:
                    peer.send(piece)
                if finish:
                    peer.finish()
                try:
                    data = peer.sock.recv(100)
                except ConnectionError:
                    data = b""
                if data:
                    raise Wrong("an answer: %r" % data)
        self.case(name, work)

    def round_trip(self, count=64):
        """A valid connection works: a Write, and a Read of the same bytes."""
        data = bytes(i * 7 & 0xff for i in range(count))
        with self.connect() as peer:
            peer.send(iw.fpdu(iw.tagged(iw.WRITE, self.open.key, self.open.va, data)) +
                      iw.fpdu(iw.read_request(self.open.key, self.open.va, count, sink_to=5)))
            answer = peer.segment()
            if answer.opcode != iw.READ_RESP or answer.payload != data or \
                    (answer.stag, answer.to, answer.last) != (0x51, 5, True):
                raise Wrong("the response to a READ is wrong: " + answer.ulpdu[:40].hex())
            peer.finish()
            self.expect_end(peer)

    def works(self, after):
        """The same as a case."""
        self.case("works_after/" + after, self.round_trip, 64)
