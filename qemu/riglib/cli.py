# SPDX-License-Identifier: GPL-2.0
"""The command line: one small function per subcommand. The work is done in other files."""

import argparse
import os
import sys
import time

from . import apt, net, rig, state, umlkernel
from .rig import Rig
from .say import RigError

_EPILOG = """\
examples:
  qemu/rig up                                   two guests, a and b
  qemu/rig run a -- ping -c 3 b                 10.77.0.2, or fd77::2
  qemu/rig push a build/module/tern.ko /tern/
  qemu/rig run -t 20 b 'dmesg | tail'           one word: a shell string
  qemu/rig down

environment:
  RIG_NAME     the default of --name (else: tern)
  RIG_ACCEL    kvm or tcg, without a test boot
  RIG_SILENCE  seconds without an answer that count as a hang (15)
  RIG_SLOW     multiplies all time limits of guests (debug kernel: 6; native-debug: 4)
  RIG_BUILD    where images and state live (build/rig)
  RIG_QUIET=1  no progress lines
  RIG_QEMU_ARGS  more arguments for QEMU
"""


def _image(args):
    disks = rig.images(args.kernel, args.rebuild, args.suite, args.systemd)
    if args.kernel not in umlkernel.NAMES:
        from . import accel
        accel.choose(disks)
    if args.clean:
        rig.clean(disks)
    for what in ("root", "kernel", "modules", "initrd", "agent"):
        if what in disks:
            print("%-8s %s" % (what, os.path.relpath(disks[what])))
    return 0


def _shape(args):
    """The options of the rig, as arguments of Rig()."""
    names = ("name", "guests", "smp", "mem", "mtu", "kernel", "net", "append", "suite", "systemd",
             "share", "containers", "pmem")
    return {name: getattr(args, name) for name in names}


def _up(args):
    Rig(**_shape(args)).stay().up()
    return 0


def _write(kind, data):
    stream = sys.stdout.buffer if kind == "o" else sys.stderr.buffer
    stream.write(data)
    stream.flush()


def _run(args):
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not words:
        raise RigError("run what? rig run %s [-t SECONDS] -- CMD..." % args.guest)
    what = words[0] if len(words) == 1 else words
    env = dict(pair.split("=", 1) for pair in args.env)
    stdin = sys.stdin.buffer if args.stdin else None
    guest = Rig.attach(args.name)[args.guest]
    # -t is in real seconds, also for slow guests.
    result = guest.run(what, timeout=args.time / guest.slow, env=env, stdin=stdin,
                       on_output=_write)
    if result.timed_out:
        print("rig: killed after %g s" % args.time, file=sys.stderr)
    return result.rc


def _push(args):
    Rig.attach(args.name)[args.guest].push(args.source, args.target)
    return 0


def _pull(args):
    Rig.attach(args.name)[args.guest].pull(args.source, args.target)
    return 0


def _console(args):
    guest = Rig.attach(args.name)[args.guest]
    shown = 0
    while True:
        text = guest.console()
        sys.stdout.write(text[shown:])
        sys.stdout.flush()
        shown = len(text)
        if not args.follow or not guest.alive():
            return 0
        time.sleep(0.3)


def _dmesg(args):
    sys.stdout.write(Rig.attach(args.name)[args.guest].dmesg())
    return 0


def _enter(args):
    from . import shell
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    return shell.enter(Rig.attach(args.name)[args.guest], words or ("bash", "-l"))


def _shell(args):
    from . import shell
    return shell.shell(_shape(args), not args.no_setup, args.keep)


def _reboot(args):
    Rig.attach(args.name)[args.guest].reboot()
    return 0


def _tern(args):
    from . import tern
    tern.install(Rig.attach(args.name), args.link, args.type)
    return 0


def _status(args):
    """Exit 0 when every guest answers."""
    bad = 0
    for guest in Rig.attach(args.name):
        try:
            seconds = guest.run(["cat", "/proc/uptime"], timeout=10, check=True).out.split()[0]
            print("%s: up %s s, pid %d, %s, %s" % (guest.name, seconds, guest.process.pid,
                                                   guest.address, guest.address6))
        except RigError as error:
            bad += 1
            print("%s: LOST: %s" % (guest.name, error))
    return 1 if bad else 0


def _list(_args):
    for name in state.names():
        record = state.load(name)
        if not record:
            print("%-12s stale ('rig down --name %s' removes it)" % (name, name))
            continue
        words = []
        for guest in record["guests"]:
            there = guest.get("process") and state.alive(state.Process(*guest["process"]))
            words.append(guest["name"] + ("" if there else "(dead)"))
        options = record["options"]
        print("%-12s %s  %s  kernel %s  %s  mtu %d  smp %d  %s  %d min" % (
            name, " ".join(words), options["suite"], record["release"], options["net"],
            options["mtu"],
            options["smp"], options.get("accel", "?"), (time.time() - record["since"]) // 60))
    return 0


def _down(args):
    for name in state.names() if args.all else [args.name or rig.default_name()]:
        if not rig.down(name) and not args.all:
            print("rig: there is no rig called " + name, file=sys.stderr)
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="rig", description="Small virtual machines on one virtual Ethernet, for trying and "
        "testing RDMA drivers.", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="what", metavar="SUBCOMMAND", required=True)

    def add(name, work, text):
        p = sub.add_parser(name, help=text, description=text)
        p.set_defaults(work=work)
        p.add_argument("--name", help="which rig (default: $RIG_NAME, else tern)")
        return p

    def system(p):
        p.add_argument("--suite", choices=apt.SUITES, help="Debian release of the guests (default: "
                       "the host's)")
        p.add_argument("--kernel", metavar="V", help="a kernel version that the suite or its "
                       "-backports has, such as 6.12, or 'newest', or 'debug' (default: the suite's; "
                       "of the host's suite the one that headers are installed of); or 'native' or "
                       "'native-debug'")
        p.add_argument("--native", dest="kernel", action="store_const", const="native",
                       help="User Mode Linux with the host's programs, instead of QEMU: the same "
                       "as --kernel native")

        p.add_argument("--systemd", action="store_true", help="guests that boot like real machines "
                       "do, with systemd and udev, and a disk that survives a reboot")

    p = add("image", _image, "build what guests boot from, if it is not there")
    system(p)
    p.add_argument("--rebuild", action="store_true", help="build again even if it exists")
    p.add_argument("--clean", action="store_true", help="remove images of older versions")

    def shape(p):
        p.add_argument("--guests", type=int, default=2, metavar="N", help="how many (2; at most 9)")
        p.add_argument("--smp", type=int, metavar="S",
                       help="virtual CPUs of each (1; native: as many as the host has)")
        p.add_argument("--mem", type=int, metavar="M",
                       help="MiB of each (1024; debug kernels: 2048)")
        p.add_argument("--mtu", type=int, default=1500, help="of the Ethernet (1500)")
        system(p)
        p.add_argument("--net", choices=net.KINDS, default="stream", help="stream: sockets between "
                       "QEMUs (default); bridge: TAPs with offloads in a namespace, takes root")
        p.add_argument("--share", metavar="DIR", help="a folder that guests see as it is now, "
                       "read-only, at /share")
        p.add_argument("--containers", nargs="?", const="released", choices=rig.CONTAINERS,
                       help="give guests the roots of the other released suites too, as disks; "
                       "'all': testing's as well")
        p.add_argument("--pmem", type=int, nargs="+", default=(), metavar="M",
                       help="persistent memory besides --mem: the MiB of each NVDIMM")
        p.add_argument("--append", default="", metavar="OPTIONS",
                       help="more for the kernel's command line")

    p = add("up", _up, "start guests a, b, c... and wait until they answer")
    shape(p)

    p = add("run", _run, "run a command in a guest; exits as it does (124: time limit)")
    p.add_argument("-t", "--time", type=float, default=60, metavar="SECONDS",
                   help="kill it after this long (60; 0: never)")
    p.add_argument("-e", "--env", action="append", default=[], metavar="K=V", help="environment")
    p.add_argument("-i", "--stdin", action="store_true", help="pass our stdin on")
    p.add_argument("guest", metavar="GUEST")
    p.add_argument("command", nargs=argparse.REMAINDER, metavar="[--] CMD...",
                   help="words, or one shell string")

    p = add("push", _push, "copy files or folders into a guest")
    p.add_argument("guest", metavar="GUEST")
    p.add_argument("source", nargs="+", metavar="SRC")
    p.add_argument("target", metavar="DST")

    p = add("pull", _pull, "copy a file or folder out of a guest")
    p.add_argument("guest", metavar="GUEST")
    p.add_argument("source", metavar="SRC")
    p.add_argument("target", metavar="DST")

    p = add("console", _console, "show a guest's console log")
    p.add_argument("-f", "--follow", action="store_true", help="and what is added to it")
    p.add_argument("guest", metavar="GUEST")

    p = add("dmesg", _dmesg, "show a guest's kernel log")
    p.add_argument("guest", metavar="GUEST")

    p = add("enter", _enter, "a terminal in a guest")
    p.add_argument("guest", metavar="GUEST")
    p.add_argument("command", nargs=argparse.REMAINDER, metavar="[--] CMD...",
                   help="default: a login shell")

    p = add("reboot", _reboot, "boot a guest of a --systemd rig again")
    p.add_argument("guest", metavar="GUEST")

    p = add("shell", _shell, "start a rig with tern loaded and open a terminal in each guest")
    shape(p)
    p.add_argument("--no-setup", action="store_true", help="do not load tern")
    p.add_argument("--keep", action="store_true", help="leave the rig up afterwards")

    p = add("tern", _tern, "push tern.ko and its provider into all guests, add an RDMA link")
    p.add_argument("--link", default="tern0", help="its name (tern0)")
    p.add_argument("--type", default="tern_roce", help="tern_roce (default) or tern_iwarp")

    add("status", _status, "ask every guest of a rig; exits 1 if one is lost")
    add("list", _list, "show all rigs")
    p = add("down", _down, "end a rig, leaving nothing behind")
    p.add_argument("--all", action="store_true", help="all rigs of this checkout")
    return parser


def main(argv=None):
    """Run one subcommand; returns the exit code (125: the rig itself failed)."""
    args = _parser().parse_args(argv)
    try:
        return args.work(args)
    except RigError as error:
        print("rig: %s" % error, file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        print("rig: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
