# SPDX-License-Identifier: GPL-2.0
"""Disks that guests have besides root and modules: one of their own that survives a reboot, and
one with a folder of the host, to read.

Both lie in the rig's folder and go with it.
"""

import os
from typing import NamedTuple

from . import paths, tool
from .kernel import SQUASHFS
from .say import RigError

SIZE = "12G"  # sparse: it only takes the space that is written


class Disk(NamedTuple):
    """One image. `setting` is the kernel option that tells the agent its device."""
    setting: str
    file: str
    writable: bool


def of(guest_name, options):
    """The disks of a guest, in the order of their device names."""
    found = []
    if options["systemd"]:
        found.append(Disk("RIG_DISK", guest_name + ".disk", True))
    if options["share"]:
        found.append(Disk("RIG_SHARE", "share.img", False))
    return found


def arguments(disks):
    """QEMU's arguments for them. Its working directory is the rig's folder."""
    argv = []
    for disk in disks:
        access = "cache=unsafe" if disk.writable else "readonly=on,file.locking=off"
        drive = "if=none,format=raw,id=%s,file=%s,%s" % (disk.setting, disk.file, access)
        argv += ["-drive", drive, "-device", "virtio-blk-pci,drive=" + disk.setting]
    return argv


def make(rig_name, guests, options):
    """Make all images, before the guests start."""
    folder = paths.run_dir(rig_name)
    if options["share"]:
        if not os.path.isdir(options["share"]):
            raise RigError("share: there is no folder " + options["share"])
        tool.run(["mksquashfs", options["share"], os.path.join(folder, "share.img"), "-all-root"]
                 + SQUASHFS.split(), what="mksquashfs of " + options["share"], limit_s=300)
    for guest in guests:
        for disk in of(guest["name"], options):
            if disk.writable:
                path = os.path.join(folder, disk.file)
                tool.run(["truncate", "-s", SIZE, path])
                # No checksums: they cost time under emulation, and this disk does not fail.
                tool.run(["mkfs.ext4", "-q", "-F", "-O", "^metadata_csum", path], what="mkfs.ext4")
