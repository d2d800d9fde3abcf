# SPDX-License-Identifier: GPL-2.0
"""A rig: some guests on one Ethernet, from start to end.

    with Rig(name="mine", guests=2) as r:
        print(r["a"].run("uname -r", timeout=10).out)

Rig() describes a rig, up() starts it, down() ends it. Rig.attach(name) finds a running one.
"""

import glob
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import (accel, apt, boot, buildroot, debug, initrd, kernel, machine, net, paths, source, state,
               trouble, uml, umlkernel, userland)
from .guest import Guest
from .say import RigError, notice, progress

MEM_MIB = 1024
GUEST_NAMES = "abcdefghi"
# Suites whose roots guests can have as disks. Testing only on request: packages may be missing.
CONTAINERS = {"released": apt.RELEASED, "all": apt.SUITES}


def default_name():
    return os.environ.get("RIG_NAME") or "tern"


def _slow(kernel_version):
    """The factor of all time limits: RIG_SLOW, or the kernel's default."""
    usual = debug.SLOW if kernel_version == debug.NAME else 1
    if kernel_version in umlkernel.NAMES:
        usual = umlkernel.slow(kernel_version)
    text = os.environ.get("RIG_SLOW") or str(usual)
    try:
        slow = float(text)
    except ValueError:
        slow = 0
    if not 1 <= slow <= 100:
        raise RigError("RIG_SLOW is %r; it multiplies time limits, and can be 1 to 100" % text)
    return slow


def _mem(kernel_version):
    """MiB that a guest needs."""
    if kernel_version in umlkernel.NAMES:
        return umlkernel.mem_mib(kernel_version)
    return debug.MEM_MIB if kernel_version == debug.NAME else MEM_MIB


def images(kernel_version=None, rebuild=False, suite=None, systemd=False, containers=()):
    """Build what is missing; returns the paths a guest boots from.

    containers: suites whose roots the guest gets besides its own, as "root-SUITE".
    """
    paths.make_dirs()
    if kernel_version in umlkernel.NAMES:
        return uml.images(kernel_version, rebuild)
    # In parallel: each mostly waits for the network, the disk or one unpacking process.
    with ThreadPoolExecutor(2 + len(containers)) as pool:
        root = pool.submit(userland.ensure, suite, rebuild, systemd)
        others = {"root-" + other: pool.submit(userland.ensure, other) for other in containers}
        release, folder = pool.submit(kernel.ensure, kernel_version, suite, rebuild).result()
        return {"release": release, "kernel": os.path.join(folder, "kernel"),
                "modules": os.path.join(folder, "modules.img"),
                "initrd": initrd.ensure(folder, systemd), "root": root.result(),
                **{name: job.result() for name, job in others.items()}}


def clean(keep):
    """Remove images that newer ones replace, unless a running rig uses them."""
    used = " ".join([*keep.values(), *source.newest()])
    for suite in apt.SUITES:
        used += " ".join((userland.image(suite), userland.image(suite, True), buildroot.path(suite)))
    for note in glob.glob(os.path.join(paths.IMAGES, "release-*")):
        with open(note, encoding="ascii") as f:
            used += " " + kernel.folder_name(f.read().strip())
    for name in state.names():
        for path in glob.glob(os.path.join(paths.run_dir(name), "*.cmdline")):
            with open(path, encoding="utf-8") as f:
                used += f.read()
    for entry in list(os.scandir(paths.IMAGES)):
        if entry.name in used or entry.name.startswith(("agent-", "release-")):
            continue
        progress("removing " + entry.name)
        if entry.is_dir():
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


class Rig:
    """One rig. As a context manager it is up within the block."""

    def __init__(self, name=None, guests=2, smp=None, mem=None, mtu=1500, kernel=None,
                 net="stream", append="", suite=None, systemd=False, share=None, containers=None,
                 pmem=()):
        """mem: MiB per guest; smp: its CPUs; None: the kernel's default. suite: None is the host's.

        With kernel native or native-debug guests are User Mode Linux, otherwise QEMU.
        systemd: guests boot like real machines, with a disk of their own, and can reboot.
        share: a folder of the host whose present contents guests have at /share.
        containers: one of CONTAINERS; QEMU guests have the roots of the other suites of these as
        disks.
        pmem: the sizes of QEMU guests' NVDIMMs, persistent memory, in MiB.
        """
        self.name = name or default_name()
        paths.run_dir(self.name)  # refuses a bad name
        if not 1 <= guests <= len(GUEST_NAMES):
            raise RigError("1 to %d guests, not %d" % (len(GUEST_NAMES), guests))
        if not 68 <= mtu <= 65000:
            raise RigError("an MTU of %d is not possible (68 to 65000)" % mtu)
        self._count, self._kernel = guests, kernel
        self._native = kernel in umlkernel.NAMES
        if self._native:
            uml.check(guests, mtu, net, suite, systemd)
        self.options = {"name": self.name, "smp": smp or (uml.cpus() if self._native else 1),
                        "mtu": mtu, "net": net, "append": append, "mem": mem or _mem(kernel),
                        "kernel": kernel, "suite": suite or apt.host_suite(), "slow": _slow(kernel),
                        "systemd": systemd, "share": share and os.path.abspath(share),
                        "pmem": () if self._native else tuple(pmem)}
        others = CONTAINERS[containers] if containers and not self._native else ()
        self.options["containers"] = [other for other in others if other != self.options["suite"]]
        self.guests = {}

    @classmethod
    def attach(cls, name=None):
        """A handle for a running rig; GuestLost('down') if there is none."""
        rig = cls(name)
        record = state.load(rig.name)
        if not record:
            others = [n for n in state.names() if state.load(n)]
            raise trouble.GuestLost(
                "?", "down", "no rig called %s is up%s: 'qemu/rig up' starts one"
                % (rig.name, " (but: %s)" % ", ".join(others) if others else ""))
        rig.options, rig._ours = record["options"], True
        rig._adopt(record)
        return rig

    def _adopt(self, record):
        self.guests = {g["name"]: Guest(self.name, g) for g in record["guests"]
                       if g.get("process")}

    def __getitem__(self, name):
        try:
            return self.guests[name]
        except KeyError:
            raise RigError("rig %s has no guest %s, only %s"
                           % (self.name, name, " ".join(self.guests))) from None

    def __iter__(self):
        return iter(self.guests.values())

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def _clear_way(self):
        """Refuse a name in use, and clean up after a crashed rig."""
        record = state.load(self.name)
        if record:
            starter = state.Process(*record["starter"])
            if record.get("starting") and state.alive(starter):
                raise RigError("a rig called %s is being started just now, by process %d"
                               % (self.name, starter.pid))
            running = [g["name"] for g in record["guests"]
                       if g.get("process") and state.alive(state.Process(*g["process"]))]
            if len(running) == len(record["guests"]):
                raise RigError("a rig called %s is up already: 'qemu/rig down --name %s' ends it, "
                               "another --name runs beside it" % (self.name, self.name))
            notice("clearing away what is left of rig %s" % self.name)
        if os.path.isdir(paths.run_dir(self.name)):
            down(self.name)

    def images(self):
        """Build what is missing, all at once; returns the paths its guests boot from."""
        return images(self._kernel, suite=self.options["suite"], systemd=self.options["systemd"],
                      containers=self.options["containers"])

    def up(self):
        """Start the guests and wait until each answers; returns self."""
        began = time.monotonic()
        booted = self.images()
        self.options["accel"] = "native" if self._native else accel.choose(booted)
        self.options["release"] = booted["release"]
        record = {"name": self.name, "options": self.options, "release": booted["release"],
                  "since": time.time(), "starting": True, "starter": state.identify(os.getpid()),
                  "guests": [{"name": GUEST_NAMES[i], "index": i + 1, "native": self._native,
                              "slow": self.options["slow"],
                              "systemd": self.options["systemd"]} for i in range(self._count)]}
        with paths.locked("names", limit_s=60):
            self._clear_way()
            os.makedirs(paths.run_dir(self.name))
            state.save(self.name, record)
        self._ours = True
        try:
            self._start(record, booted)
            self._wait_ready(time.monotonic() + boot.LIMIT_S * self.options["slow"])
            record["starting"] = False
            state.save(self.name, record)
        except BaseException:
            self.down(keep_logs=True)
            raise
        progress("rig %s is up: guests %s, %s, kernel %s, %s, %s, %.1f s" % (
            self.name, " ".join(self.guests), self.options["suite"], booted["release"],
            self.options["net"], self.options["accel"].upper(), time.monotonic() - began))
        return self

    def _start(self, record, booted):
        guests = record["guests"]
        machines = (uml if self._native else machine).Machines(guests, booted, self.options)
        # The child is killed when the starting thread ends, so only the main thread may use that.
        leash = self._leashed and threading.current_thread() is threading.main_thread()
        for guest in guests:
            pid = machines.start(guest, leash)
            guest["process"] = state.identify(pid) or (pid, 0)
            state.save(self.name, record)
            machines.started(guest)
        self._adopt(record)

    def _wait_ready(self, deadline):
        for guest in self.guests.values():
            guest.wait_ready(deadline)

    # A rig of `rig up` outlives the program. A rig within a test must not.
    _leashed = True

    def stay(self):
        """Let the guests outlive this process. Call it before up(). Returns self."""
        self._leashed = False
        return self

    # Set once this object has started or found its rig: if up() was refused because the name is in
    # use, down() must not end that other rig.
    _ours = False

    def down(self, keep_logs=False):
        """End every process of the rig and remove its folder, if it is up."""
        if self._ours:
            self._ours, self.guests = False, {}
            down(self.name, keep_logs)


def down(name, keep_logs=False):
    """End a rig by name, running, crashed or half-started. True if there was one."""
    folder = paths.run_dir(name)
    record = state.load(name)
    processes = [state.Process(*g["process"]) for g in (record or {}).get("guests", [])
                 if g.get("process")]
    left = state.end(processes)
    net.tear_down(name)
    if left:
        raise RigError("rig %s: processes %s do not die; its folder stays: %s"
                       % (name, " ".join(str(p.pid) for p in left), folder))
    there = os.path.isdir(folder)
    if there and keep_logs and glob.glob(os.path.join(folder, "*.console")):
        kept = os.path.join(paths.BUILD, "last-failure")
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(kept)
        for entry in os.scandir(folder):
            if entry.is_file() and not entry.name.endswith(".lock"):
                shutil.copy(entry.path, kept)
        notice("the logs of the failed start are in " + os.path.relpath(kept))
    if there:
        shutil.rmtree(folder)
    return there
