# SPDX-License-Identifier: GPL-2.0
"""The initramfs: the boot modules, and the agent, which is also the guest's init.

Rebuilt (in about 5 s, mostly the C++ compiler) whenever one of those changes; since the
agent travels in here, a change of it never rebuilds the root image.
"""

import glob
import hashlib
import os
import shutil
import tempfile

from . import paths, tool
from .say import progress

_AGENT = sorted(glob.glob(os.path.join(paths.QEMU_DIR, "agent", "*.cc")))
_HEADERS = sorted(glob.glob(os.path.join(paths.QEMU_DIR, "agent", "*.h")))
_FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-fno-exceptions", "-fno-rtti", "-static", "-s"]


def _hash(files, *more):
    total = hashlib.sha256(repr(more).encode())
    for path in files:
        with open(path, "rb") as f:
            total.update(f.read())
    return total.hexdigest()[:16]


def agent():
    """Path of the static agent binary, which is compiled if its sources have changed."""
    binary = os.path.join(paths.IMAGES, "agent-" + _hash(_AGENT + _HEADERS, _FLAGS))
    if not os.path.exists(binary):
        with paths.locked("agent"):
            if not os.path.exists(binary):
                progress("compiling the guest agent")
                tool.run(["g++"] + _FLAGS + _AGENT + ["-o", binary + ".new"], what="g++ (agent)")
                os.rename(binary + ".new", binary)
    return binary


def _lay_out(root, kernel_folder, agent_binary, disk):
    os.mkdir(root)
    os.mkdir(os.path.join(root, "dev"))
    for what in ("boot-modules", "disk-modules")[:1 + disk]:
        shutil.copytree(os.path.join(kernel_folder, what), os.path.join(root, "mod"),
                        dirs_exist_ok=True)
    shutil.copy(agent_binary, os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)


def ensure(kernel_folder, disk=False):
    """Path of the initramfs for that kernel; `disk`: for guests with a disk of their own."""
    agent_binary = agent()
    key = _hash([__file__], agent_binary, kernel_folder, disk)
    out = os.path.join(paths.IMAGES, "initrd-%s.cpio" % key)
    if os.path.exists(out):
        return out
    with paths.locked("initrd"):
        work = tempfile.mkdtemp(prefix="initrd.", dir=paths.IMAGES)
        try:
            root = os.path.join(work, "root")
            _lay_out(root, kernel_folder, agent_binary, disk)
            names = sorted(os.path.relpath(os.path.join(at, name), root)
                           for at, folders, files in os.walk(root) for name in folders + files)
            # Not compressed: decompression would be emulated, reading is not.
            with open(os.path.join(work, "list"), "w+", encoding="utf-8") as listing, \
                    open(os.path.join(work, "cpio"), "wb") as cpio:
                listing.write("\n".join(names) + "\n")
                listing.seek(0)
                tool.run(["sh", "-c", 'exec cpio -o -H newc -R 0:0 --quiet >"$0"', cpio.name],
                         stdin=listing, cwd=root, what="cpio")
            os.rename(os.path.join(work, "cpio"), out)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return out
