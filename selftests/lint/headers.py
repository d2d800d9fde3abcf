#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""headers.py VERSION DIR [ARCH]: print a kernel build directory for VERSION, such as 6.12.

Debian's headers of the newest such kernel are downloaded from the suite or its -backports,
and unpacked in DIR, not installed: /lib/modules stays as the machine's owner has it. If DIR
holds such headers already, the newest of them serve, and nothing is downloaded. They are for
amd64 kernels or, to build with a cross compiler, for those of ARCH. On failure, one line that
says what is missing.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../qemu"))

from riglib import apt  # noqa: E402
from riglib.say import RigError  # noqa: E402


def _order(name):
    """A sort key of releases, and of what is named after them."""
    return [int(part) for part in re.findall(r"\d+", name)]


def _newest(version, archive, arch):
    """The package of the newest release of VERSION that the suite has headers of, or None."""
    wanted = re.compile(r"linux-headers-(%s\.\d+\S*)-%s" % (re.escape(version), arch))
    names = [n for n in archive.names("linux-headers-" + version)
             if wanted.fullmatch(n) and not re.search(r"-(cloud|rt)-%s$" % arch, n)]
    return max(names, key=_order, default=None)


def _unpack(package, archive, folder):
    """Download a package, its common part and kbuild, and make their tree stand where it is.

    kbuild's programs run here, so they are the host's, whatever kernel they build for."""
    host = apt.Archive(archive.suite)
    work = tempfile.mkdtemp(prefix="headers.", dir=folder)
    try:
        root = os.path.join(work, "root")
        archive.unpack([package], root)
        host.unpack([name for name in archive.depends(package)
                     if re.match(r"linux-headers-.*-common$|linux-kbuild-", name)], root)
        target = os.path.join(folder, package)
        # Its Makefile includes the common one by its place in an installed system.
        makefile = os.path.join(root, "usr/src", package, "Makefile")
        with open(makefile, encoding="ascii") as f:
            text = f.read()
        with open(makefile, "w", encoding="ascii") as f:
            f.write(re.sub(r"(?<=[ =])/usr/src/", target + "/usr/src/", text))
        os.rename(root, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    version, folder = sys.argv[1], os.path.realpath(sys.argv[2])
    arch = sys.argv[3] if len(sys.argv) > 3 else "amd64"
    os.makedirs(folder, exist_ok=True)
    at = "%s/linux-headers-%s.*-%s/usr/src/linux-headers-*-%s" % (
        folder, glob.escape(version), arch, arch)
    if not glob.glob(at):
        archive = apt.Archive(arch=None if arch == "amd64" else arch)
        package = _newest(version, archive, arch)
        if not package:
            raise RigError("Debian %s and its -backports have no headers of kernel %s for %s"
                           % (archive.suite, version, arch))
        _unpack(package, archive, folder)
    print(max(glob.glob(at), key=lambda path: _order(os.path.basename(path))))


try:
    main()
except (RigError, OSError, subprocess.SubprocessError) as error:
    sys.exit("headers.py: %s" % error)
