# SPDX-License-Identifier: GPL-2.0
"""A command that runs in a guest: its output so far, its time limit, its result."""

import io
import os
import re
import shlex
import struct
import threading
import time

from . import trouble, wire
from .say import RigError

# The agent sends a frame every second while a command runs. This much silence is a hang, not load:
# also on a busy two-core host a guest runs within that time.
SILENCE_S = float(os.environ.get("RIG_SILENCE", "15"))
_GRACE_S = 20
_CHUNK = 32 * 1024


class Result:
    """How a command ended. rc follows the shell: 128+N for signal N, 124 for the time limit."""

    def __init__(self, argv, rc, out, err, timed_out, seconds):
        self.argv, self.rc, self.timed_out, self.seconds = argv, rc, timed_out, seconds
        self.out_bytes, self.err_bytes = out, err

    @property
    def out(self):
        return self.out_bytes.decode("utf-8", "replace")

    @property
    def err(self):
        return self.err_bytes.decode("utf-8", "replace")

    @property
    def ok(self):
        return self.rc == 0

    def __repr__(self):
        return "<Result rc=%d%s %.2fs %s>" % (
            self.rc, " timed out" if self.timed_out else "", self.seconds, shlex.join(self.argv))


class CommandFailed(RigError):
    """A command run with check=True ended with another exit code than 0; see .result."""

    def __init__(self, guest, result):
        self.result = result
        how = "hit its time limit" if result.timed_out else "failed (exit %d)" % result.rc
        text = (result.err or result.out).strip().splitlines()[-15:]
        super().__init__("guest %s: %s %s%s" % (guest, shlex.join(result.argv), how,
                                                "".join("\n  " + line for line in text)))


class Command:
    """A started command. A thread moves its bytes; every wait here has a deadline."""

    def __init__(self, guest, what, timeout=60, env=None, stdin=None, cwd="/root",
                 on_output=None):
        self.guest = guest
        self.argv = ["sh", "-c", what] if isinstance(what, str) else [str(w) for w in what]
        self._limit_s = float(timeout) * guest.slow if timeout else 0.0
        self._silence_s = SILENCE_S * guest.slow
        self._stdin = self._reader(stdin)
        self._on_output = on_output
        self._streams = {"o": bytearray(), "e": bytearray()}
        self._changed = threading.Condition()
        self._signals = []
        self._result = self._error = None
        self._abandoned = False
        self._began = time.monotonic()
        self._channel = wire.Channel.open(guest, self._silence_s)
        env = dict(env or {})
        if guest.slow != 1:
            env.setdefault("RIG_SLOW", "%g" % guest.slow)
        self._channel.execute(self.argv, {k: str(v) for k, v in env.items()}, cwd,
                              self._limit_s, 0)
        self._thread = threading.Thread(target=self._work, daemon=True,
                                        name="%s: %s" % (guest.name, self.argv[0]))
        self._thread.start()

    @staticmethod
    def _reader(stdin):
        """stdin as a file object. It may be None, text, bytes, or a file."""
        if stdin is None or hasattr(stdin, "read"):
            return stdin
        return io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)

    def _feed(self):
        """Send a limited amount of stdin ahead: the guest's pipe sets the pace."""
        while self._stdin is not None and self._channel.backlog() < 8 * _CHUNK:
            data = self._stdin.read(_CHUNK)
            self._channel.send("I", data)
            if not data:
                self._stdin = None

    def _work(self):
        clean = False
        try:
            if self._stdin is None:
                self._channel.send("I")
            heard = time.monotonic()
            while not self._abandoned:
                self._feed()
                with self._changed:
                    signals, self._signals = self._signals, []
                for number in signals:
                    self._channel.send("K", struct.pack("<I", number))
                frames = self._channel.exchange(0.1 if self._began + 1 > heard else 0.25)
                now = time.monotonic()
                if frames:
                    heard = now
                elif now - heard > self._silence_s:
                    raise trouble.of_silent(self.guest, now - heard)
                if self._limit_s and now - self._began > self._limit_s + _GRACE_S:
                    raise RigError("guest %s: the agent did not enforce the time limit of %s"
                                   % (self.guest.name, shlex.join(self.argv)))
                if self._take(frames, now):
                    clean = True
                    return
        except BaseException as error:  # wait() raises it
            with self._changed:
                self._error = error
        finally:
            self._channel.close(clean)
            with self._changed:
                self._changed.notify_all()

    def _take(self, frames, now):
        """Handle frames; True once the command's end is among them."""
        for kind, payload in frames:
            if kind in "oe":
                with self._changed:
                    self._streams[kind] += payload
                    self._changed.notify_all()
                if self._on_output:
                    self._on_output(kind, payload)
            elif kind == "x":
                how, value = struct.unpack("<II", payload)
                rc = {wire.EXITED: value, wire.SIGNALLED: 128 + value}.get(how, 124)
                with self._changed:
                    self._result = Result(self.argv, rc, bytes(self._streams["o"]),
                                          bytes(self._streams["e"]), how == wire.TIMED_OUT,
                                          now - self._began)
                return True
        return False

    @property
    def running(self):
        return self._thread.is_alive()

    def output(self):
        """Its output so far, stdout before stderr."""
        with self._changed:
            return bytes(self._streams["o"] + self._streams["e"]).decode("utf-8", "replace")

    def wait_for(self, pattern, timeout=30):
        """Wait until its output matches the regular expression; returns the match."""
        deadline = time.monotonic() + timeout * self.guest.slow
        with self._changed:
            while True:
                for kind in "oe":
                    found = re.search(pattern, self._streams[kind].decode("utf-8", "replace"))
                    if found:
                        return found
                if self._error:
                    raise self._error
                left = deadline - time.monotonic()
                if self._result is not None or left <= 0:
                    why = "ended" if self._result is not None else "took more than %g s" % timeout
                    break
                self._changed.wait(min(left, 1.0))
        raise RigError("guest %s: %s %s before its output had %r; it was:\n%s" % (
            self.guest.name, shlex.join(self.argv), why, pattern, self.output()[-2000:]))

    def wait(self, timeout=None, check=False):
        """Wait for its end; returns the Result. Without `timeout` its own limit holds."""
        if timeout is not None:
            timeout *= self.guest.slow
        elif self._limit_s:
            timeout = self._limit_s + _GRACE_S + 10
        deadline = None if timeout is None else time.monotonic() + timeout
        # In short steps, because Ctrl-C cannot interrupt an endless join.
        while self._thread.is_alive():
            if deadline is not None and time.monotonic() > deadline:
                raise RigError("guest %s: %s still runs after %g s"
                               % (self.guest.name, shlex.join(self.argv), timeout))
            self._thread.join(0.5)
        if self._error:
            raise self._error
        if self._result is None:
            raise RigError("guest %s: %s was abandoned" % (self.guest.name, shlex.join(self.argv)))
        if check and self._result.rc:
            raise CommandFailed(self.guest.name, self._result)
        return self._result

    def kill(self, number=9):
        """Signal its whole process group."""
        with self._changed:
            self._signals.append(number)

    def abandon(self):
        """Close the channel: the agent then kills the process group."""
        self._abandoned = True
        self._thread.join(5)
