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


def _newest(version, options):
    """The newest release of VERSION that apt has headers for, or None."""
    names = tool.run(["apt-cache"] + options + ["pkgnames", "linux-headers-" + version]).split()
    releases = [m.group(1) for m in (re.fullmatch(r"linux-headers-(%s\.(\d+)\S*)-amd64"
                                                  % re.escape(version), n) for n in names)
                if m and not re.search(r"-(cloud|rt)$", m.group(1))]
    return max(releases, key=lambda r: [int(n) for n in re.findall(r"\d+", r)], default=None)


def _backports(folder):
    """Options that show apt the suite's -backports beside what the machine has configured."""
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    suite = apt.host_suite()
    for line in apt.debian_sources():
        found = re.fullmatch(r"(deb(?: \[[^]]*\])? \S+) %s main.*" % re.escape(suite), line)
        if found:
            break
    else:
        raise RigError("apt has no main component of Debian %s" % suite)
    source = os.path.join(folder, "backports.list")
    with open(source, "w", encoding="ascii") as f:
        f.write("%s %s-backports main\n" % (found.group(1), suite))
    options = ["-o", "Dir::Etc::SourceList=" + source, "-o", "Dir::Etc::SourceParts=-",
               "-o", "Dir::State::Lists=" + lists, "-o", "Dir::Cache::pkgcache=",
               "-o", "Dir::Cache::srcpkgcache="]
    tool.run(["apt-get"] + options + ["update", "-q"], limit_s=300,
             what="apt-get update for %s-backports" % suite)
    return options


def _unpack(release, options, folder):
    """Download the three packages of a release and make their tree stand where it is."""
    common = re.sub(r"-amd64$", "", release)
    work = tempfile.mkdtemp(prefix="headers.", dir=folder)
    try:
        tool.run(["apt-get"] + options + ["download", "-q", "linux-headers-%s-amd64" % release,
                                          "linux-headers-%s-common" % common,
                                          "linux-kbuild-" + release],
                 limit_s=600, cwd=work, what="apt-get download of the headers of " + release)
        for package in glob.glob(work + "/*.deb"):
            tool.run(["dpkg-deb", "-x", package, os.path.join(work, "root")], limit_s=300)
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
        options = []
        release = _newest(version, options)
        if not release:
            options = _backports(folder)
            release = _newest(version, options)
        if not release:
            raise RigError("Debian %s and its -backports have no kernel %s"
                           % (apt.host_suite(), version))
        _unpack(release, options, folder)
        kept = glob.glob("%s/%s/usr/src/linux-headers-*-amd64" % (folder, release))
    print(kept[0])


try:
    main()
except (RigError, OSError, subprocess.SubprocessError) as error:
    sys.exit("headers.py: %s" % error)
