#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""headers.py VERSION DIR: print a kernel build directory for VERSION, such as 6.12.

Debian's headers of the newest such kernel are downloaded from the suite or its -backports,
and unpacked in DIR, not installed: /lib/modules stays as the machine's owner has it. What
DIR holds already is used again. On failure, one line that says what is missing.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../qemu"))

from riglib import apt, tool  # noqa: E402
from riglib.say import RigError  # noqa: E402


def _newest(version, archive):
    """The newest release of VERSION that the suite has headers for, or None."""
    names = archive.names("linux-headers-" + version)
    releases = [m.group(1) for m in (re.fullmatch(r"linux-headers-(%s\.(\d+)\S*)-amd64"
                                                  % re.escape(version), n) for n in names)
                if m and not re.search(r"-(cloud|rt)$", m.group(1))]
    return max(releases, key=lambda r: [int(n) for n in re.findall(r"\d+", r)], default=None)


def _unpack(release, archive, folder):
    """Download the three packages of a release and make their tree stand where it is."""
    work = tempfile.mkdtemp(prefix="headers.", dir=folder)
    try:
        for package in ("linux-headers-%s-amd64", "linux-headers-%s-common", "linux-kbuild-%s"):
            path = archive.download(package % release, work)
            tool.run(["dpkg-deb", "-x", path, os.path.join(work, "root")], limit_s=300)
        target = os.path.join(folder, release)
        # Its Makefile includes the common one by its place in an installed system.
        makefile = os.path.join(work, "root/usr/src/linux-headers-%s-amd64/Makefile" % release)
        with open(makefile, encoding="ascii") as f:
            text = f.read()
        with open(makefile, "w", encoding="ascii") as f:
            f.write(text.replace(" /usr/src/", " %s/usr/src/" % target))
        os.rename(os.path.join(work, "root"), target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    version, folder = sys.argv[1], os.path.realpath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    kept = glob.glob("%s/%s.*/usr/src/linux-headers-*-amd64" % (folder, glob.escape(version)))
    if not kept:
        archive = apt.Archive()
        release = _newest(version, archive)
        if not release:
            raise RigError("Debian %s and its -backports have no headers of kernel %s"
                           % (archive.suite, version))
        _unpack(release, archive, folder)
        kept = glob.glob("%s/%s/usr/src/linux-headers-*-amd64" % (folder, release))
    print(kept[0])


try:
    main()
except (RigError, OSError, subprocess.SubprocessError) as error:
    sys.exit("headers.py: %s" % error)
