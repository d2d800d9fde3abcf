# SPDX-License-Identifier: GPL-2.0
"""The process that runs one User Mode Linux: starts it, connects its serial lines to sockets, ends it.

    python3 keeper.py NAME PORTS [FD...] -- COMMAND...

A QEMU guest is one process that listens on sockets. This does the same for User Mode Linux: it lives
as long as the kernel, in the rig's folder, and any signal that ends it ends all processes of the
guest. For each of PORTS serial lines it listens on NAME.portN. COMMAND gets the lines as ssl0=fd:...
and so on. Each FD is one end of an Ethernet: the first is this kernel's. All stay open here, so that a
guest that has ended is silent for the other one, and no error.
"""

import contextlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys

import preexec

_CHUNK = 64 * 1024
# The most bytes that wait for the kernel, which reads a serial line byte by byte. Then the host waits.
_WAITING_MAX = 256 * 1024
_HEADER = struct.Struct("<HBBI")  # of a frame: agent/wire.h
_MAGIC = 0x4752
_HANG_UP = _HEADER.pack(_MAGIC, ord("U"), 0, 0)


class _Frames:
    """Follows a stream's frames, to complete the last one if the host has closed the socket."""

    def __init__(self):
        self._head, self._left = b"", 0

    def feed(self, data):
        while data:
            if self._left:
                n = min(self._left, len(data))
                self._left, data = self._left - n, data[n:]
                continue
            if not self._head:
                data = data.lstrip(b"\0")
            n = _HEADER.size - len(self._head)
            self._head, data = self._head + data[:n], data[n:]
            if len(self._head) == _HEADER.size:
                self._left, self._head = _HEADER.unpack(self._head)[3], b""

    def rest(self):
        """Zeros for the missing rest of the frame."""
        head = (self._head + bytes(_HEADER.size))[:_HEADER.size] if self._head else b""
        missing = _HEADER.unpack(head)[3] if head else 0
        return bytes(len(head) - len(self._head) + self._left + missing)


class _Line:
    """One serial line of the kernel, and the host's socket for it, if there is one."""

    def __init__(self, loop, path):
        self._loop = loop
        self._line, self.kernels = socket.socketpair()
        self._line.setblocking(False)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(1)
        self._host, self._frames = None, _Frames()
        self._to_kernel, self._to_host = bytearray(), bytearray()
        # The kernel does not notice data that were sent before it opens a line. So the guest sends first.
        self._is_open = False
        loop.register(self._line, selectors.EVENT_READ, self._serve_line)
        loop.register(self._listener, selectors.EVENT_READ, self._accept)

    def _ask(self, sock, mine, others, serve):
        """Events to poll for, given the bytes in `mine` to send and the room in `others`."""
        want = selectors.EVENT_WRITE if mine else 0
        if len(others) < _WAITING_MAX:
            want |= selectors.EVENT_READ
        if sock in self._loop.get_map():
            self._loop.unregister(sock)
        if want:
            self._loop.register(sock, want, serve)

    def _watch(self):
        self._ask(self._line, self._is_open and self._to_kernel, self._to_host, self._serve_line)
        if self._host:
            self._ask(self._host, self._to_host, self._to_kernel, self._serve_host)

    def _accept(self, _):
        self._host, _ = self._listener.accept()
        self._host.setblocking(False)
        self._frames = _Frames()
        # One host connection at a time: the next one waits.
        self._loop.unregister(self._listener)
        self._watch()

    def _hang_up(self):
        self._loop.unregister(self._host)
        self._host.close()
        self._host = None
        self._to_host.clear()
        self._to_kernel += self._frames.rest() + _HANG_UP
        self._loop.register(self._listener, selectors.EVENT_READ, self._accept)

    def _serve_host(self, events):
        try:
            if events & selectors.EVENT_WRITE and self._to_host:
                del self._to_host[:self._host.send(self._to_host)]
            if events & selectors.EVENT_READ:
                data = self._host.recv(_CHUNK)
                if data:
                    self._frames.feed(data)
                    self._to_kernel += data
                else:
                    self._hang_up()
        except BlockingIOError:
            pass
        except OSError:
            self._hang_up()
        self._watch()

    def _serve_line(self, events):
        with contextlib.suppress(BlockingIOError):
            if events & selectors.EVENT_WRITE and self._to_kernel:
                del self._to_kernel[:self._line.send(self._to_kernel)]
            if events & selectors.EVENT_READ:
                data = self._line.recv(_CHUNK)
                self._is_open = True
                if self._host:
                    self._to_host += data
        self._watch()


def _prepare(keeper):
    """In the child: it ends with its keeper, and does not execute itself again."""
    preexec.die_with(keeper)
    preexec.keep_addresses()


def _end(kernel):
    """Kill the kernel and all its guest's processes, which are in its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(kernel.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        kernel.kill()
    return kernel.wait()


def _carry(loop, kernel):
    """Serve until the kernel ends. It is not reaped yet then, so its pid is still its own."""
    end = os.pidfd_open(kernel.pid)
    loop.register(end, selectors.EVENT_READ, None)
    while True:
        for key, events in loop.select():
            if key.fd == end:
                return
            key.data(events)


def _keep(name, ports, ethernet, command):
    loop = selectors.DefaultSelector()
    lines = [_Line(loop, "%s.port%d" % (name, i)) for i in range(ports)]
    command = command + ["ssl%d=fd:%d" % (i, line.kernels.fileno())
                         for i, line in enumerate(lines)]
    keeper = os.getpid()
    fds = [line.kernels.fileno() for line in lines] + ethernet[:1]
    with open(name + ".console", "ab") as console:
        # As the leader of a group it cannot make a session, which it would do: see machine.launch().
        kernel = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console,
                                  stderr=console, pass_fds=fds, process_group=0,
                                  preexec_fn=lambda: _prepare(keeper))
    try:
        _carry(loop, kernel)
    finally:
        code = _end(kernel)
    return code


def _stop(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    # A connection to these sockets gives root's rights.
    os.umask(0o077)
    at = sys.argv.index("--")
    name, ports = sys.argv[1], int(sys.argv[2])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        code = _keep(name, ports, [int(fd) for fd in sys.argv[3:at]], sys.argv[at + 1:])
    except KeyboardInterrupt:
        return 143
    if code < 0:
        print("the kernel was ended by %s" % signal.Signals(-code).name, file=sys.stderr)
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
