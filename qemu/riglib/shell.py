# SPDX-License-Identifier: GPL-2.0
"""For people: a terminal in a guest, or two of them side by side.

`rig enter` is a real terminal over the agent's channel (job control, full-screen programs,
resizing). `rig shell` starts a rig if needed, loads tern into it, and opens a terminal in
each guest: in tmux panes, or one at a time without tmux.
"""

import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import tty

from . import command, paths, tern, trouble, wire
from .rig import Rig, down
from .say import RigError, notice


def enter(guest, argv=("bash", "-l")):
    """Run a program on a terminal of its own in the guest; returns its exit code."""
    if not sys.stdin.isatty():
        raise RigError("'rig enter' needs a terminal; 'rig run' does not")
    keys, screen = sys.stdin.fileno(), sys.stdout.fileno()
    channel = wire.Channel.open(guest, command.SILENCE_S * guest.slow)
    channel.execute(list(argv), {"TERM": os.environ.get("TERM", "linux")}, "/root", 0, wire.PTY)
    resized = [True]
    signal.signal(signal.SIGWINCH, lambda *_: resized.append(True))
    before = termios.tcgetattr(keys)
    try:
        tty.setraw(keys)
        return _relay(guest, channel, keys, screen, resized)
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)
        channel.close()


def _relay(guest, channel, keys, screen, resized):
    heard = time.monotonic()
    while True:
        if resized:
            del resized[:]
            size = os.get_terminal_size(screen)
            channel.send("W", struct.pack("<HH", size.lines, size.columns))
        frames = channel.exchange(0.25, also=[keys])
        if frames:
            heard = time.monotonic()
        elif time.monotonic() - heard > command.SILENCE_S * guest.slow:
            raise trouble.of_silent(guest, time.monotonic() - heard)
        for kind, payload in frames:
            if kind == "o":
                os.write(screen, payload)
            elif kind == "x":
                how, value = struct.unpack("<II", payload)
                return value if how == wire.EXITED else 128 + value
        if select.select([keys], [], [], 0)[0]:
            typed = os.read(keys, 4096)
            if not typed:
                return 0
            channel.send("I", typed)


_WELCOME = """\
echo; echo "  guest %(guest)s: %(address)s, fd77::%(index)d; the other: %(other)s"
echo "  leave with 'exit'; logs: dmesg -w; files from the host: qemu/rig push"; echo
exec bash -l"""


def _terminal_command(rig, guest):
    other = ", ".join("%s %s" % (g.name, g.address) for g in rig if g is not guest) or "none"
    text = _WELCOME % {"guest": guest.name, "address": guest.address, "index": guest.index,
                       "other": other}
    return [os.path.join(paths.QEMU_DIR, "rig"), "enter", "--name", rig.name, guest.name, "--",
            "sh", "-c", text]


def shell(options, setup, keep):
    """Start (or join) a rig, set tern up in it, open terminals, end the rig if we started it."""
    if not sys.stdin.isatty():
        raise RigError("'rig shell' needs a terminal; 'rig up' and 'rig run' do not")
    try:
        rig, ours = Rig.attach(options["name"]), False
        for guest in rig:
            guest.check_alive()
    except trouble.GuestLost:
        rig, ours = Rig(**options).stay().up(), True
    try:
        if setup:
            tern.install(rig)
        guests = list(rig)
        if shutil.which("tmux") and len(guests) > 1:
            return _in_tmux(rig, guests)
        if len(guests) > 1:
            notice("tmux is not installed (qemu/install-deps.sh): here is guest a alone. For the "
                   "others, in another terminal: qemu/rig enter --name %s b" % rig.name)
        return subprocess.call(_terminal_command(rig, guests[0]))
    finally:
        if ours and not keep:
            down(rig.name)
            notice("rig %s is down" % rig.name)
        else:
            notice("rig %s stays up: 'qemu/rig shell' returns to it, 'qemu/rig down' ends it"
                   % rig.name)


def _in_tmux(rig, guests):
    # A separate server, so that the user's tmux configuration and sessions are not changed.
    server = ["tmux", "-L", "rig-" + rig.name, "-f", "/dev/null"]
    env = {k: v for k, v in os.environ.items() if k != "TMUX"}
    argv = server + ["new-session", "-s", rig.name] + _terminal_command(rig, guests[0])
    for guest in guests[1:]:
        argv += [";", "split-window", "-h"] + _terminal_command(rig, guest)
    argv += [";", "select-layout", "even-horizontal", ";", "select-pane", "-t", "0",
             ";", "set", "mouse", "on", ";", "set", "status-right",
             " C-b arrow: other guest   exit in both: end "]
    return subprocess.call(argv, env=env)
