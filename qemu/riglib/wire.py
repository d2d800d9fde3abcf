# SPDX-License-Identifier: GPL-2.0
"""One command's connection to the agent in a guest, over a virtio-serial port of its own.

agent/wire.h defines the protocol. A guest has several ports, and each carries one command at a time.
The holder of a port's lock file owns it. The lock file also records whether the last owner stopped
within a frame: then the port is first flushed with zeros.
"""

import fcntl
import os
import select
import struct
import time

from . import state, trouble
from .say import RigError

PORTS = 16
MAX_PAYLOAD = 32 * 1024
PTY = 1
EXITED, SIGNALLED, TIMED_OUT = 0, 1, 2
_HEADER = struct.Struct("<HBBI")
_MAGIC = 0x4752


def _frame(kind, payload=b""):
    return _HEADER.pack(_MAGIC, ord(kind), 0, len(payload)) + payload


class Channel:
    """An owned port. Not thread-safe; `close()` gives the port back."""

    def __init__(self, guest, port, lock):
        self._guest, self._lock = guest, lock
        self._sock = None
        self._in, self._out = bytearray(), bytearray()
        self._path = guest.path("port%d" % port)

    @classmethod
    def open(cls, guest, limit_s):
        """Take a free port of the guest and shake hands; GuestLost if the guest is dead or hangs."""
        deadline = time.monotonic() + limit_s
        guest.check_alive()
        while True:
            for port in cls._by_last_use(guest):
                lock = os.open(guest.path("port%d.lock" % port), os.O_RDWR | os.O_CREAT, 0o644)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(lock)
                    continue
                channel = cls(guest, port, lock)
                try:
                    channel._shake(deadline)
                except BaseException:
                    channel.close()
                    raise
                return channel
            if time.monotonic() > deadline:
                raise RigError("guest %s: all %d command channels are busy" % (guest.name, PORTS))
            time.sleep(0.05)

    @staticmethod
    def _by_last_use(guest):
        """The ports, the one longest unused first.

        A guest gets a port's close by another queue than the next data: a slow guest may take an old
        close for that of a new connection that follows at once.
        """
        def last_use(port):
            try:
                return os.stat(guest.path("port%d.lock" % port)).st_mtime_ns
            except FileNotFoundError:
                return 0
        return sorted(range(PORTS), key=last_use)

    def _shake(self, deadline):
        start = time.monotonic()
        while self._sock is None:
            self._guest.check_alive()
            try:
                self._sock = state.connect(self._path, 5)
            except RigError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        self._sock.setblocking(False)
        dirty = os.read(self._lock, 1) == b"d"
        os.pwrite(self._lock, b"d", 0)
        nonce = os.urandom(8)
        # In User Mode Linux the keeper has ended the frame.
        flush = MAX_PAYLOAD if dirty and not self._guest.native else 64
        self._out += b"\0" * flush + _frame("H", nonce)
        while True:
            for kind, payload in self.exchange(0.25):
                if kind == "h" and payload == nonce:
                    return
            if time.monotonic() > deadline:
                raise trouble.of_silent(self._guest, time.monotonic() - start)

    def close(self, clean=False):
        """Give the port back. `clean`: everything sent and received ended with a frame."""
        if self._sock is not None:
            if clean and not self._out:
                os.pwrite(self._lock, b"c", 0)
            self._sock.close()
            self._sock = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def fileno(self):
        return self._sock.fileno()

    def backlog(self):
        """Bytes that the guest has not taken yet."""
        return len(self._out)

    def send(self, kind, payload=b""):
        self._out += _frame(kind, payload)

    def execute(self, argv, env, cwd, limit_s, flags):
        """Ask the agent to start a command."""
        strings = [cwd] + ["%s=%s" % item for item in env.items()] + list(argv)
        text = b"".join(os.fsencode(s) + b"\0" for s in strings)
        payload = struct.pack("<IIII", int(limit_s * 1000), flags, len(env), len(argv)) + text
        if len(payload) > MAX_PAYLOAD:
            raise RigError("a command line of %d bytes is too long for the agent (%d): push a "
                           "script instead" % (len(payload), MAX_PAYLOAD))
        self.send("X", payload)

    def exchange(self, timeout_s, also=()):
        """Send and receive for up to `timeout_s`; returns the frames that came: [(kind, bytes)].

        Returns at once when one of the descriptors in `also` is readable.
        """
        want_out = [self._sock] if self._out else []
        readable, writable, _ = select.select([self._sock, *also], want_out, [], timeout_s)
        try:
            if writable:
                sent = self._sock.send(memoryview(self._out)[:256 * 1024])
                del self._out[:sent]
            if self._sock in readable:
                data = self._sock.recv(256 * 1024)
                if not data:
                    raise ConnectionResetError
                self._in += data
        except BlockingIOError:
            pass
        except (ConnectionError, OSError):
            self._guest.wait_end(5)
            raise trouble.of_dead(self._guest) from None
        if not readable:
            self._guest.check_alive()
        return list(self._frames())

    def _frames(self):
        # The agent writes whole frames, but data for the previous owner may come first.
        while len(self._in) >= _HEADER.size:
            magic, kind, zero, length = _HEADER.unpack_from(self._in)
            if magic != _MAGIC or zero or length > MAX_PAYLOAD:
                del self._in[0]
                continue
            if len(self._in) < _HEADER.size + length:
                return
            payload = bytes(self._in[_HEADER.size:_HEADER.size + length])
            del self._in[:_HEADER.size + length]
            yield chr(kind), payload
