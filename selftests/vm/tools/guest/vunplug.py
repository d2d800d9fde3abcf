#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""vunplug.py SECONDS SEED KIND: takes devices of a kind away from live programs, in every way.

Changes namespaces, netdevs, addresses, links and the module at random (unplug.py), while programs of
six kinds come, work and go. Prints TAP. The kernel log and what is left are judged by the caller.
"""

import collections
import os
import random
import signal
import subprocess
import sys
import time

import unplug
from unplug import SLOW, inside

PROGRAMS = 6
# The change, how often. The mode and the module take the programs away, so they are seldom changed.
CHANGES = {"add_namespace": 6, "end_namespace": 2, "add_netdevs": 12, "end_netdev": 3, "move_netdev": 4,
           "change_netdev": 8, "add_link": 24, "delete_link": 5, "move_device": 6}
OTHERS = {"set_mode": 1, "remove_module": 2}
# How much longer it goes on if a kind of change or program is still missing.
MORE_S = 180
# A process that ends may wait for its calls by iw_cm for a minute.
END_LIMIT_S = 90
# A program that has lived so long has a connection, and moves data or waits for it.
RUNS_S = 2


def _ping_pong(options):
    """libibverbs' program, both ends. Which of its GIDs a device has is left to chance: r."""
    return ("ibv_rc_pingpong -n 100000000 -p 1851{n} -g {r} -d {device} %s" % options,
            "ibv_rc_pingpong -n 100000000 -p 1851{n} -g {r} -d {device} %s {peer}" % options)


# kind: the server's command, the client's; or that of one program.
ROCE = {"polls": _ping_pong(""), "waits": _ping_pong("-e")}
KINDS = {
    "verified traffic": ("/tern/vverify -d {device}",
                         "/tern/vverify -d {device} -m scale/mixed -S 30 -t 5 {peer}"),
    "rdma_cm": ("rping -s -a {own}", "rping -c -C 100000000 -a {peer}"),
    "all verbs": ("/tern/vchaos -P 8 -S 30 -s {seed} -d {device}",),
    "waits for events": ("ibv_asyncwatch -d {device}",),
    "looks": ("sh -c 'while :; do for what in qp cq mr pd cm_id ctx srq; do "
              "rdma -dd resource show $what; done; /tern/vdump.py {device}; rdma statistic; done'",),
}


class Program:
    """A program, or a pair of them: a group of processes."""

    def __init__(self, kind, ends, chance):
        self.kind = kind
        (device, space, address), (far, far_space, far_address) = ends
        common = {"n": device[2], "r": chance.randrange(6), "seed": chance.randrange(1 << 30)}
        commands = {**KINDS, **ROCE}[kind]
        command = inside(space, commands[-1].format(device=device, own=address, peer=far_address,
                                                    **common))
        if len(commands) == 2:
            server = inside(far_space, commands[0].format(device=far, own=far_address, peer=address,
                                                          **common))
            command = "%s & sleep %g; %s; kill -9 $!; wait" % (server, 0.4 * SLOW, command)
        # Those that poll would take the time of all changes.
        self._child = subprocess.Popen(["nice", "-n", "10", "sh", "-c", command], start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self._start = time.monotonic()
        self.until = self._start + chance.uniform(3, 15) * SLOW
        self.has_run = False

    def look(self):
        """Does any of its processes live?"""
        if self._child.poll() is None:
            self.has_run |= time.monotonic() > self._start + RUNS_S * SLOW
            return True
        try:
            os.killpg(self._child.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self):
        """SIGKILL to all its processes."""
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def states(self):
        """For people: where its processes are."""
        return unplug.run("ps -o pid,stat,wchan:30,args -g %d" % self._child.pid)[1]


class Play:
    """A run from beginning to end."""

    def __init__(self, seconds, seed, kind):
        self.random = random.Random(seed)
        self.until = time.monotonic() + seconds
        self.world = unplug.World(self.random, kind)
        self.kinds = list(KINDS) + (list(ROCE) if kind == "tern_roce" else [])
        self.programs = []
        self.done, self.tried, self.ran = (collections.Counter() for _ in range(3))
        self._number = 0
        self._failed = False

    def _choose(self, kinds, done):
        """All of them, or half of the time only those that have not been done yet."""
        missing = [kind for kind in kinds if not done[kind]]
        return missing if missing and self.random.randrange(2) else list(kinds)

    def _is_over(self):
        """Is it time to end?"""
        late = time.monotonic() - self.until
        complete = all(self.done[name] for name in {**CHANGES, **OTHERS}) and \
            all(self.ran[kind] for kind in self.kinds)
        return late >= 0 and (complete or late >= MORE_S * SLOW)

    # -- programs

    def _start_one(self):
        ends = self.world.ends()
        if ends and len(self.programs) < PROGRAMS:
            kind = self.random.choice(self._choose(self.kinds, self.ran))
            if self.random.randrange(2):
                ends = ends[::-1]
            self.programs.append(Program(kind, ends, self.random))

    def _look_at_all(self):
        """Kill those whose time is over, and forget those that have ended."""
        now = time.monotonic()
        for program in list(self.programs):
            if program.look():
                if now > program.until + END_LIMIT_S * SLOW:
                    raise unplug.Hung("a killed program is still there:\n" + program.states())
                if now > program.until:
                    program.kill()
                continue
            self.ran[program.kind] += program.has_run
            self.programs.remove(program)

    def _end_all(self):
        now = time.monotonic()
        for program in self.programs:
            program.until = min(program.until, now)
        while self.programs:
            self._look_at_all()
            time.sleep(0.05)

    # -- changes

    def _set_mode(self):
        self._end_all()
        self.world.reset(not self.world.exclusive)
        return True

    def _remove_module(self):
        """Under programs it may fail. Without any it must not."""
        if self.random.randrange(2):
            return self.world.remove_module()
        self._end_all()
        until = time.monotonic() + 10 * SLOW
        while os.path.exists("/sys/module/tern") and not self.world.remove_module():
            if time.monotonic() > until:
                raise unplug.Hung("no program runs, and the module is in use")
            time.sleep(0.2)
        return True

    def _change_one(self):
        weights = {**CHANGES, **OTHERS}
        names = self._choose(weights, self.done)
        name = self.random.choices(names, [weights[name] for name in names])[0]
        if name == "move_device" and not self.world.exclusive:
            name = "set_mode"
        act = getattr(self, "_" + name) if name in OTHERS else getattr(self.world, "do_" + name)
        self.tried[name] += 1
        self.done[name] += act()

    def _play(self):
        self.world.reset(False)
        self._look_at_all()
        while not self._is_over():
            self._change_one()
            self._start_one()
            self._look_at_all()
            time.sleep(self.random.uniform(0, 0.3) * SLOW)
        self._end_all()
        self.world.reset(False)

    # -- verdicts

    def _case(self, name, ok, why=""):
        self._number += 1
        self._failed |= not ok
        for line in why.splitlines() if not ok else ():
            print("# " + line)
        print("%s %d %s" % ("ok" if ok else "not ok", self._number, name), flush=True)

    def run(self):
        """Returns the exit code."""
        why = ""
        try:
            self._play()
        except unplug.Hung as hung:
            why = str(hung)
        print("# changes: " + ", ".join("%s %d of %d" % (name, self.done[name], self.tried[name])
                                        for name in self.tried))
        print("# programs that ran: " + ", ".join("%s %d" % item for item in self.ran.items()))
        self._case("nothing-hangs", not why, why)
        missing = [name for name in {**CHANGES, **OTHERS} if not self.done[name]]
        self._case("all-kinds-of-changes", not missing, ", ".join(missing))
        missing = [kind for kind in self.kinds if not self.ran[kind]]
        self._case("all-kinds-of-programs", not missing, ", ".join(missing))
        print("1..%d" % self._number)
        return int(self._failed)


if len(sys.argv) != 4:
    sys.exit(__doc__)
sys.exit(Play(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]).run())
