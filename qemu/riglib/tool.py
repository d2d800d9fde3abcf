# SPDX-License-Identifier: GPL-2.0
"""Runs a program of the host, with a time limit. If it is missing, the error names its package."""

import os
import shutil
import subprocess

from .say import RigError

# Debian has some of these in folders that only root's PATH has.
_PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"

_PACKAGE = {
    "mmdebstrap": "mmdebstrap", "newuidmap": "uidmap",
    "mksquashfs": "squashfs-tools", "unsquashfs": "squashfs-tools",
    "dpkg-scanpackages": "dpkg-dev", "patch": "patch",
    "unshare": "util-linux", "depmod": "kmod", "zstd": "zstd",
    "cpio": "cpio", "mkfs.ext4": "e2fsprogs", "g++": "build-essential", "objcopy": "binutils",
    "qemu-system-x86_64": "qemu-system-x86",
    "flex": "flex", "bison": "bison", "make": "build-essential",
    "ip": "iproute2", "tmux": "tmux", "xz": "xz-utils",
}


def find(program):
    """The program's full path, or a RigError that says what to install."""
    path = shutil.which(program, path=_PATH)
    if not path:
        raise RigError("%s is not installed: run qemu/install-deps.sh (Debian package %s)"
                       % (program, _PACKAGE.get(program, program)))
    return path


def run(argv, limit_s=120, what=None, **kw):
    """Run argv[0] to its end and return its stdout as text."""
    what = what or argv[0]
    env = dict(kw.pop("env", os.environ), LC_ALL="C.UTF-8", PATH=_PATH)
    try:
        done = subprocess.run([find(argv[0])] + list(argv[1:]), timeout=limit_s, env=env,
                              stdin=kw.pop("stdin", subprocess.DEVNULL),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    except subprocess.TimeoutExpired:
        raise RigError("%s did not end within %d s" % (what, limit_s)) from None
    if done.returncode:
        tail = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-8:]
        raise RigError("%s failed (exit %d)%s" % (what, done.returncode,
                                                  "".join("\n  " + line for line in tail)))
    return done.stdout.decode("utf-8", "replace")
