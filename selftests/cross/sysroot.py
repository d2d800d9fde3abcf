#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sysroot.py ARCH DIR PACKAGE...: the files of these packages for another architecture.

They are downloaded from the host's suite and unpacked in DIR, not installed. An existing DIR is
not changed. On failure one line says what is missing.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../qemu"))

from riglib import apt  # noqa: E402
from riglib.say import RigError  # noqa: E402


def main():
    arch, folder, packages = sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3:]
    if os.path.isdir(folder):
        return
    archive = apt.Archive(arch=arch)
    new = folder + ".new"
    shutil.rmtree(new, ignore_errors=True)
    archive.unpack(packages, new)
    os.rename(new, folder)


try:
    main()
except (RigError, OSError, subprocess.SubprocessError) as error:
    sys.exit("sysroot.py: %s" % error)
