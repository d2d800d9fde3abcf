# SPDX-License-Identifier: GPL-2.0
"""One guest of a running rig, as tests see it: run commands, move files, read its logs."""

import io
import os
import shutil
import tarfile
import tempfile
import time
import uuid

from . import boot, paths, state, trouble
from .command import Command
from .say import RigError

# $1 is the target, $2 the name of the only source or empty. A target that is not a folder and
# does not end in '/' is the file's new name, as with cp.
_UNPACK = r"""set -eu
if [ -n "$2" ] && [ ! -d "$1" ] && [ "${1%/}" = "$1" ]; then
    up=$(dirname "$1"); mkdir -p "$up"; t=$(mktemp -d "$up/.push.XXXXXX")
    tar -xf - --no-same-owner -C "$t"; mv -T "$t/$2" "$1"; rmdir "$t"
else
    mkdir -p "$1"; tar -xf - --no-same-owner -C "$1"
fi"""


class Guest:
    """A handle. Several handles, also in several processes, may be for the same guest."""

    def __init__(self, rig_name, record):
        self.name, self.index = record["name"], record["index"]
        self.process = state.Process(*record["process"])
        # Time limits are for a guest of usual speed. This factor makes them real seconds.
        self.slow = record.get("slow", 1)
        self.native = record.get("native", False)
        self.systemd = record.get("systemd", False)
        self._folder = paths.run_dir(rig_name)
        self.address = "10.77.0.%d" % self.index
        self.address6 = "fd77::%d" % self.index

    def __repr__(self):
        return "<Guest %s pid %d>" % (self.name, self.process.pid)

    def path(self, what):
        """The path of a file of this guest in its rig's folder."""
        return os.path.join(self._folder, "%s.%s" % (self.name, what))

    @property
    def console_path(self):
        return self.path("console")

    def alive(self):
        """Is its QEMU process running? (The guest may still hang.)"""
        return state.alive(self.process)

    def check_alive(self):
        """Raise GuestLost, with the end of its console, if it is dead."""
        if not self.alive():
            raise trouble.of_dead(self)

    def wait_end(self, limit_s):
        """Wait until its QEMU process is gone; True if it is."""
        deadline = time.monotonic() + limit_s
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def wait_ready(self, deadline):
        """Wait until it has booted: it answers, and systemd, if it has it, has started all."""
        boot.wait(self, deadline)

    def reboot(self, how="systemctl reboot"):
        """Reboot it (systemd guests). Its files are kept.

        No other command may be running. A guest that reboots in another way is lost.
        """
        if not self.systemd:
            raise RigError("guest %s has no disk to boot from again: start the rig with systemd"
                           % self.name)
        boot.reboot(self, how)

    # -- commands

    def start(self, what, timeout=60, **how):
        """Start a command, a shell string or a list of words; returns a Command.

        timeout: seconds until its process group is killed (None: no limit).
        how: env={}, stdin=text|bytes|file, cwd="/root", on_output=callable("o"|"e", bytes).
        """
        return Command(self, what, timeout, **how)

    def run(self, what, timeout=60, check=False, **how):
        """Run a command to its end; returns a Result (rc, out, err, timed_out, seconds)."""
        command = Command(self, what, timeout, **how)
        try:
            return command.wait(check=check)
        except BaseException:
            if command.running:
                command.abandon()
            raise

    def wait_until(self, what, timeout=10, every=0.1):
        """Repeat a command until it succeeds. RigError after the timeout."""
        deadline = time.monotonic() + timeout * self.slow
        while True:
            result = self.run(what, timeout=max(1, timeout))
            if result.ok:
                return result
            if time.monotonic() > deadline:
                raise RigError("guest %s: not true after %g s: %s\n%s%s"
                               % (self.name, timeout, what, result.out[-500:], result.err[-500:]))
            time.sleep(every)

    def wait_listening(self, port, timeout=20):
        """Wait until the guest listens on a TCP port. (Servers buffer what they print.)"""
        self.wait_until("ss -Hltn 'sport = :%d' | grep -q ." % port, timeout)

    # -- files

    def push(self, sources, target, timeout=120):
        """Copy files or folders of the host into the guest; `target` as with cp -r."""
        sources = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
        with tempfile.SpooledTemporaryFile(max_size=64 << 20) as spool:
            with tarfile.open(fileobj=spool, mode="w", dereference=True) as tar:
                for source in sources:
                    source = os.path.abspath(os.fspath(source))
                    if not os.path.exists(source):
                        raise RigError("push: there is no " + source)
                    tar.add(source, arcname=os.path.basename(source))
            spool.seek(0)
            only = os.path.basename(os.path.abspath(os.fspath(sources[0])))
            self._unpack(spool, [target, only if len(sources) == 1 else ""], timeout)

    def _unpack(self, spool, words, timeout):
        if not self.native:
            self.run(["sh", "-c", _UNPACK, "push"] + words, timeout=timeout, stdin=spool,
                     check=True)
            return
        # User Mode Linux reads serial lines slowly, byte by byte, but sees a folder of the host.
        with tempfile.NamedTemporaryFile(dir=self.path("share"), prefix="push.") as shared:
            shutil.copyfileobj(spool, shared)
            shared.flush()
            self.run(["sh", "-c", 'exec <"$0"\n' + _UNPACK,
                      "/run/rig/" + os.path.basename(shared.name)] + words, timeout=timeout,
                     check=True)

    def write(self, target, content, mode=0o644):
        """Write text or bytes to a file in the guest."""
        data = content.encode() if isinstance(content, str) else content
        self.run(["sh", "-c", 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"', "write",
                  target, "%o" % mode], stdin=data, check=True)

    def pull(self, source, target, timeout=120):
        """Copy a file or folder of the guest to the host; `target` as with cp -r."""
        folder, name = os.path.split(source.rstrip("/"))
        packed = self.run(["tar", "-cf", "-", "-C", folder or "/", "--", name], timeout=timeout,
                          check=True).out_bytes
        target = os.fspath(target)
        into = target if os.path.isdir(target) or target.endswith("/") else ""
        up = into or os.path.dirname(os.path.abspath(target))
        os.makedirs(up, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pull.", dir=up) as work:
            with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
                for member in tar:
                    # The guest may be broken: it must not write elsewhere on the host.
                    parts = member.name.split("/")
                    if parts[0] != name or ".." in parts or not (member.isfile() or member.isdir()):
                        continue
                    member.mode |= 0o600 if member.isfile() else 0o700
                    tar.extract(member, work, set_attrs=True)
            final = os.path.join(into, name) if into else target
            if os.path.isdir(final) and not os.path.islink(final):
                shutil.rmtree(final)
            os.replace(os.path.join(work, name), final)

    # -- logs

    def console(self):
        """The console so far: kernel messages of level warning and above, and any crash."""
        return trouble.console_text(self.console_path)

    def dmesg(self):
        """The whole kernel log."""
        return self.run(["dmesg"], check=True).out

    def dmesg_mark(self):
        """Put a mark into the kernel log, for dmesg_since()."""
        mark = "rig-mark-" + uuid.uuid4().hex[:12]
        self.run(["sh", "-c", 'echo "<7>$1" >/dev/kmsg', "mark", mark], check=True)
        return mark

    def dmesg_since(self, mark):
        """The kernel log's lines after a mark."""
        before, found, after = self.dmesg().partition(mark)
        return after.lstrip("\n") if found else before
