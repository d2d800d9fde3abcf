# SPDX-License-Identifier: GPL-2.0
"""Starts User Mode Linux for one guest: the native rig's counterpart of machine.py and net.py.

A guest's root is the host's root with a layer in memory above, so guests have the host's programs.
Ordinary writes do not reach the host, but hostfs does not protect it. A guest's CPUs are threads of
the host. Ethernet is a pair of sockets, so there are one or two guests.
"""

import os
import re
import shlex
import shutil
import socket
import sys

from . import apt, initrd, machine, paths, umlkernel, wire
from .say import RigError, notice

_KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")
_ETHERNET_BYTES = 4 << 20
# The MTU for which the Ethernet has buffers. MTUs up to that can be set.
_MAX_MTU = 9000
# Of the driver's queue. It drops what does not fit, and never stops the netdev's queue.
_QUEUE_PACKETS = 1024
# As for QEMU guests: a crash ends a guest at once, with the reason on its console.
_APPEND = ("seccomp=on noreboot con=null con0=null,fd:1 ssl=null loglevel=5 panic=-1 oops=panic "
           "softlockup_panic=1 random.trust_cpu=on audit=0 root=/dev/root rootfstype=hostfs "
           "rootflags=/ ro")


def cpus():
    """The default number of CPUs: the host's, and at least two, for races."""
    return max(2, len(os.sched_getaffinity(0)))


def check(count, mtu, net, suite, systemd):
    """Refuse options that this rig does not support."""
    if os.geteuid():
        raise RigError("a native rig takes root: its guests read the host's root folder as it is")
    if count > 2:
        raise RigError("a native rig has one or two guests, not %d: its Ethernet is one cable" %
                       count)
    if net != "stream":
        raise RigError("a native rig has one kind of Ethernet: leave --net out")
    if mtu > _MAX_MTU:
        raise RigError("a native rig has an MTU of %d at the most" % _MAX_MTU)
    if systemd:
        raise RigError("a native rig has no systemd: leave --systemd out")
    if suite and suite != apt.host_suite():
        raise RigError("a native rig has the host's programs, which are those of Debian %s: leave "
                       "--suite out" % apt.host_suite())


def _shared(rig_name, guest_name):
    """The host's folder that a guest sees as /run/rig: pushed files pass through it."""
    return os.path.join(paths.run_dir(rig_name), guest_name + ".share")


def _clock_mhz():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        found = re.search(r"(?m)^cpu MHz\s*:\s*(\S+)", f.read())
    return found.group(1) if found else "1000"


def memory_folder(mem_mib):
    """The folder for the file that is a guest's memory: in the host's memory, if possible.

    Also for bench/native.
    """
    why = []
    for folder in ("/dev/shm", paths.BUILD):
        stat = os.statvfs(folder) if os.access(folder, os.W_OK) else None
        if not stat:
            why.append("%s cannot be written to" % folder)
        elif stat.f_flag & os.ST_NOEXEC:
            why.append("%s is mounted noexec" % folder)
        elif stat.f_bavail * stat.f_frsize < (mem_mib + 64) << 20:
            why.append("%s has no room for %d MiB" % (folder, mem_mib))
        else:
            if folder != "/dev/shm":
                notice("guests are slower, for their memory is on a disk: " + why[0])
            return folder
    raise RigError("no place for a guest's memory: %s. A tmpfs helps that allows exec: "
                   "mount -o remount,exec,size=%dM /dev/shm, or RIG_BUILD elsewhere"
                   % ("; ".join(why), 2 * mem_mib + 128))


def _command_line(guest, images, options, ends):
    """The keeper's command for a guest. The first of `ends` is its end of the Ethernet."""
    name = guest["name"]
    shared = _shared(options["name"], name)
    words = [images["kernel"], "mem=%dM" % options["mem"], "ncpus=%d" % options["smp"],
             "uml_dir=./", "umid=%s.uml" % name, "init=" + images["agent"],
             "vec0:transport=fd,fd=%d,depth=%d,mtu=%d,mac=02:00:00:7e:72:%02x" % (
                 ends[0].fileno(), _QUEUE_PACKETS, _MAX_MTU, guest["index"])]
    words += _APPEND.split() + machine.patience(options["slow"]).split()
    words += ["RIG_NAME=" + name, "RIG_INDEX=%d" % guest["index"], "RIG_MTU=%d" % options["mtu"],
              "RIG_PORTS=%d" % wire.PORTS, "RIG_MHZ=" + _clock_mhz(),
              "RIG_MODULES=" + images["modules"], "RIG_PUSH=" + shared]
    words += ["RIG_SHARE=" + options["share"]] if options["share"] else []
    for word in words:
        if re.search(r"[\s\"]", word):
            raise RigError("a kernel's command line can have no blanks in a path: %r" % word)
    return ([sys.executable, _KEEPER, name, str(wire.PORTS)] +
            [str(end.fileno()) for end in ends] + ["--"] + words + shlex.split(options["append"]))


class Machines:
    """The guests of one rig, and the Ethernet between them; see machine.Machines."""

    def __init__(self, guests, images, options):
        self._guests, self._images, self._options = guests, images, options
        self._ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in self._ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ETHERNET_BYTES)

    def start(self, guest, leash):
        """Start a guest; returns the pid of its keeper."""
        options = self._options
        ends = self._ends if guest["index"] == 1 else self._ends[::-1]
        os.makedirs(_shared(options["name"], guest["name"]))
        return machine.launch(options["name"], guest,
                              _command_line(guest, self._images, options, ends), leash,
                              pass_fds=[end.fileno() for end in ends],
                              env=dict(os.environ, TMPDIR=memory_folder(options["mem"])))

    def started(self, guest):
        """Close our copies of the Ethernet's ends once each guest has them."""
        if guest is self._guests[-1]:
            for end in self._ends:
                end.close()


# One program of each package of packages.native that tests use.
_PROGRAMS = ("ib_write_bw", "ibv_devinfo", "rping", "iperf3", "ethtool", "fio", "tcpdump", "nvme",
             "ping", "rdma")


def missing_programs():
    """Check that the host has the programs that tests use: a test's own error would be unclear."""
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    return [name for name in _PROGRAMS if not shutil.which(name, path=path)]


def images(kernel, rebuild=False):
    """Build the missing files from which guests start."""
    missing = missing_programs()
    if missing:
        notice("the host, and so the guests, have no %s: run qemu/install-deps.sh "
               "qemu/packages.native" % ", ".join(missing))
    release, folder = umlkernel.ensure(kernel, rebuild)
    return {"release": release, "kernel": os.path.join(folder, "linux"),
            "modules": os.path.join(folder, "modules"), "agent": initrd.agent()}
