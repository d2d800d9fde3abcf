# SPDX-License-Identifier: GPL-2.0
"""QEMU's monitor: JSON over a socket. The rig uses few commands and one event."""

import json
import time

from . import state
from .say import RigError


class Monitor:
    """A connection to one guest's QEMU, by the socket at `path`."""

    def __init__(self, path, limit_s):
        self._sock = state.connect(path, limit_s)
        self._stream = self._sock.makefile("rwb")
        try:
            self._next()  # its greeting
            self.command("qmp_capabilities")
        except (RigError, OSError):
            self._sock.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._sock.close()

    def _next(self):
        try:
            line = self._stream.readline()
        except OSError:
            line = b""
        return json.loads(line) if line else None

    def command(self, name, **arguments):
        """Send a command and wait for its answer. Events before it are ignored."""
        request = {"execute": name, "arguments": arguments}
        self._stream.write(json.dumps(request).encode() + b"\n")
        self._stream.flush()
        while True:
            answer = self._next()
            if answer is None or "error" in answer:
                raise RigError("QEMU's monitor: %s: %s" % (
                    name, answer["error"].get("desc") if answer else "no answer"))
            if "return" in answer:
                return

    def wait_reset(self, deadline):
        """Wait until the guest resets its machine; False if it does not."""
        while time.monotonic() < deadline:
            self._sock.settimeout(max(0.1, deadline - time.monotonic()))
            answer = self._next()
            if answer is None:
                return False
            if answer.get("event") == "RESET" and answer["data"].get("guest"):
                return True
        return False
