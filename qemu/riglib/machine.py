# SPDX-License-Identifier: GPL-2.0
"""How QEMU is started for one guest: machine, disks, console, control ports, kernel options."""

import os
import shlex
import subprocess

from . import disks, net, paths, preexec, tool, wire

# Crashes end a guest at once, with the reason on its console (see trouble.py). The rest keeps the
# boot short: no probes for devices that a PVH guest lacks, no tests, no security modules.
_APPEND = ("console=ttyS0 loglevel=5 panic=-1 oops=panic unknown_nmi_panic softlockup_panic=1 "
           "net.ifnames=0 random.trust_cpu=on tsc=reliable no_timer_check mitigations=off "
           "audit=0 lsm= apparmor=0 selinux=0 cryptomgr.notests 8250.nr_uarts=1 "
           "edd=off i8042.noprobe ")

_CPU = {
    # Under TCG 'max' has fast string moves, which are 6 times slower there than plain loops, and
    # five-level page tables, which add a level to each emulated walk. The family is one without AMD's
    # erratum 400, for which Linux stops a CPU's timer each time it idles.
    "tcg": ["-accel", "tcg,thread=multi",
            "-cpu", "max,-erms,-fsrm,-la57,family=23,model=1,stepping=2"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}


def base(accel):
    """The arguments of every QEMU of the rig, also of the KVM test."""
    return ([tool.find("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none",
             "-M", "q35,usb=off,sata=off,smbus=off,vmport=off,graphics=off", "-no-reboot"]
            + _CPU[accel])


def _cpus(smp, accel):
    """Of QEMU's -smp.

    For a machine that can have only one CPU TCG leaves out the guest's memory barriers (QEMU before
    8.1). But QEMU's I/O thread is another CPU: sooner or later a virtqueue's kick is lost, and the
    guest sends nothing any more. So there is room for one more CPU.
    """
    return "%d,maxcpus=%d" % (smp, max(smp, 2)) if accel == "tcg" else str(smp)


def _memory(mem, pmem):
    """The memory, and NVDIMMs of these sizes, in MiB. What is in them ends with the guest."""
    if not pmem:
        return ["-m", "%dM" % mem]
    # Each NVDIMM may need a GiB of addresses to begin at.
    argv = ["-m", "%dM,slots=%d,maxmem=%dM" % (mem, len(pmem), mem + sum(pmem) + 1024 * len(pmem)),
            "-machine", "nvdimm=on"]
    for i, size in enumerate(pmem):
        argv += ["-object", "memory-backend-ram,id=pmem%d,size=%dM" % (i, size),
                 "-device", "nvdimm,id=nvdimm%d,memdev=pmem%d" % (i, i)]
    return argv


def patience(slow):
    """Kernel options for a slow guest: longer watchdogs than 20 s, and all reports of KASAN."""
    return "watchdog_thresh=%d kasan_multi_shot " % min(60, 10 * slow) if slow > 1 else ""


def _containers(images, disk):
    """The disks with other suites' roots. Their serial numbers are root-SUITE."""
    argv = []
    for name in sorted(name for name in images if name.startswith("root-")):
        argv += ["-drive", disk % (name, images[name]),
                 "-device", "virtio-blk-pci,drive=%s,serial=%s" % (name, name)]
    return argv


def command_line(guest, images, options, netdev):
    """The QEMU command for a guest. Paths are relative to the rig's folder, its cwd."""
    name = guest["name"]
    append = _APPEND + patience(options["slow"])
    append += "RIG_NAME=%s RIG_INDEX=%d RIG_MTU=%d RIG_PORTS=%d " % (
        name, guest["index"], options["mtu"], wire.PORTS)
    # The first two are root and modules. The agent gets the names of the others as options.
    others = disks.of(name, options)
    append += "".join("%s=/dev/vd%c " % (other.setting, ord("c") + i)
                      for i, other in enumerate(others))
    append += ("RIG_SYSTEMD=1 " if options["systemd"] else "") + options["append"]
    disk = "if=none,format=raw,readonly=on,file.locking=off,id=%s,file=%s"
    argv = base(options["accel"]) + [
        "-name", "%s.%s" % (options["name"], name),
        "-smp", _cpus(options["smp"], options["accel"]), *_memory(options["mem"], options["pmem"]),
        "-kernel", images["kernel"], "-initrd", images["initrd"], "-append", append,
        "-drive", disk % ("root", images["root"]),
        "-device", "virtio-blk-pci,drive=root",
        "-drive", disk % ("mod", images["modules"]),
        "-device", "virtio-blk-pci,drive=mod",
        *disks.arguments(others),
        *_containers(images, disk),
        "-chardev", "file,id=console,append=on,path=%s.console" % name,
        "-serial", "chardev:console",
        "-qmp", "unix:%s.qmp,server=on,wait=off" % name,
        "-device", "virtio-rng-pci",
        "-device", "virtio-serial-pci,max_ports=%d" % (wire.PORTS + 1),
    ]
    for i in range(wire.PORTS):
        argv += ["-chardev", "socket,id=p%d,path=%s.port%d,server=on,wait=off" % (i, name, i),
                 "-device", "virtserialport,chardev=p%d,name=rig.%d,nr=%d" % (i, i, i + 1)]
    # With a speed, because rxe and others complain without one.
    argv += netdev + ["-device", "virtio-net-pci,netdev=net0,romfile=,speed=10000,duplex=full,"
                      "mac=52:54:00:7e:72:%02x" % guest["index"]]
    return argv + shlex.split(os.environ.get("RIG_QEMU_ARGS", ""))


def launch(name, guest, argv, leash, **how):
    """Start a guest's process in the rig's folder; returns its pid.

    It has its own process group, so a terminal's Ctrl-C does not reach it. It stays in the caller's
    session: the host's scheduler first shares CPUs among sessions (autogroup), and with some kernels
    (6.18) a session of two threads that wake each other all the time, as a native guest's at each
    system call, makes all others wait for seconds.

    leash: it is killed when this process (more exactly, this thread) ends. For rigs inside a test
    program, which must end with it.
    """
    folder, starter = paths.run_dir(name), os.getpid()
    with open(os.path.join(folder, guest["name"] + ".qemu.log"), "wb") as log:
        log_line = shlex.join(argv)
        with open(os.path.join(folder, guest["name"] + ".cmdline"), "w", encoding="utf-8") as f:
            f.write(log_line + "\n")
        return subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                process_group=0,
                                preexec_fn=(lambda: preexec.die_with(starter)) if leash else None,
                                **how).pid


class Machines:
    """The guests of one rig, in QEMU. uml.py has the same for User Mode Linux."""

    def __init__(self, guests, images, options):
        self._guests, self._images, self._options = guests, images, options
        disks.make(options["name"], guests, options)
        net.set_up(options["name"], options["net"], guests, options["mtu"])

    def start(self, guest, leash):
        """Start a guest; returns the pid of the process with which it ends."""
        name, kind = self._options["name"], self._options["net"]
        argv = net.prefix(name, kind) + command_line(
            guest, self._images, self._options, net.netdev(kind, guest, len(self._guests)))
        return launch(name, guest, argv, leash)

    def started(self, guest):
        """After a guest's process is recorded: wait until the next guest can be started."""
        net.wait_ready(self._options["name"], self._options["net"], guest, len(self._guests))
