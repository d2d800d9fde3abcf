# SPDX-License-Identifier: GPL-2.0
"""Build roots: a folder with a suite's own compiler, libraries and kernel headers, to build in.

The programs of a suite's guests are built in that suite: tern.ko by the compiler of its kernel,
programs against its libraries. A build root is made once per suite, kept, and shared by all rigs.
Commands in it see the checkout at /src, read-only, and an output folder at /out.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

from . import apt, paths, tool, userland
from .say import RigError, progress

PACKAGES = os.path.join(paths.QEMU_DIR, "packages.build")

# $1 root, $2 checkout, $3 output folder, $4 command. Runs in its own namespaces, so there is nothing
# to undo, and its processes end with it. A user namespace cannot make the checkout read-only.
_ENTER = r"""set -eu
mkdir -p "$1/src" "$1/out"
mount --bind "$2" "$1/src"
mount -o remount,bind,ro "$1/src" 2>/dev/null || [ "$5" != root ]
mount --bind "$3" "$1/out"
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmp "$1/tmp"
exec chroot "$1" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "$4"
"""


def _make(archive, root):
    """In a user's mapped root all files have to become ours, as others' could not be removed."""
    packages = archive.choose(PACKAGES)
    if not os.geteuid():
        userland.bootstrap(archive, packages, ["--format=directory"], root)
        return
    os.mkdir(root)
    tarball = root + ".tar"
    try:
        userland.bootstrap(archive, packages, ["--format=tar"], tarball)
        tool.run(["tar", "-xf", tarball, "-C", root, "--no-same-owner", "--exclude=./dev/*"],
                 what="unpacking the build root", limit_s=600)
    finally:
        if os.path.exists(tarball):
            os.unlink(tarball)


def path(suite):
    """The path of the suite's build root, which may not exist yet."""
    suite = apt.Archive(suite).suite
    with open(PACKAGES, encoding="ascii") as f:
        key = hashlib.sha256((f.read() + suite).encode()).hexdigest()[:16]
    return os.path.join(paths.IMAGES, "buildroot-%s-%s" % (suite, key))


def ensure(suite):
    """The same, made if it is missing."""
    root, archive = path(suite), apt.Archive(suite)
    if os.path.exists(root):
        return root
    paths.make_dirs()
    with paths.locked("buildroot-" + archive.suite, limit_s=userland.LIMIT_S):
        if not os.path.exists(root):
            progress("making the build root of Debian %s: once, 1 to 3 minutes" % archive.suite)
            shutil.rmtree(root + ".new", ignore_errors=True)
            _make(archive, root + ".new")
            os.rename(root + ".new", root)
    return root


def need(suite, packages):
    """Install more packages in the suite's build root, unless they are there."""
    root, archive = ensure(suite), apt.Archive(suite)
    have = os.path.join(root, "var/lib/rig")
    missing = [name for name in packages if not os.path.exists(os.path.join(have, name))]
    if not missing:
        return
    with paths.locked("need-" + archive.suite):
        progress("installing in the build root of Debian %s: %s" % (suite, " ".join(missing)))
        work = tempfile.mkdtemp(prefix="need.", dir=paths.IMAGES)
        try:
            os.mkdir(os.path.join(work, "partial"))
            archive.fetch(missing, work, os.path.join(root, "var/lib/dpkg/status"))
            if glob.glob(work + "/*.deb"):
                run(suite, "dpkg --force-unsafe-io -i /out/*.deb", work,
                    what="installing " + " ".join(missing))
        finally:
            shutil.rmtree(work, ignore_errors=True)
        os.makedirs(have, exist_ok=True)
        for name in missing:
            with open(os.path.join(have, name), "w", encoding="ascii"):
                pass


def headers(suite, release):
    """The build directory of a kernel release in the suite's build root, unpacked if need be."""
    root, archive = ensure(suite), apt.Archive(suite)
    inside = "/usr/src/linux-headers-" + release
    if os.path.exists(root + inside):
        return inside
    with paths.locked("headers-" + archive.suite):
        if os.path.exists(root + inside):
            return inside
        progress("fetching the headers of kernel " + release)
        common = release.rsplit("-", 1)[0]
        wanted = ["linux-headers-" + release, "linux-headers-%s-common" % common]
        wanted += [name for name in archive.depends(wanted[0])
                   if name.startswith("linux-kbuild-")]
        # The file that shows that all are there comes last.
        archive.unpack(wanted[::-1], root)
    return inside


def run(suite, command, out, limit_s=900, what=None):
    """Run a shell command in the suite's build root; returns its output, RigError if it fails."""
    root = ensure(suite)
    os.makedirs(out, exist_ok=True)
    argv = [tool.find("unshare"), "--mount", "--pid", "--fork", "--kill-child"]
    if os.geteuid():
        argv += ["--user", "--map-root-user"]
    argv += ["sh", "-c", _ENTER, "buildroot", root, paths.CHECKOUT, out, command,
             "user" if os.geteuid() else "root"]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        raise RigError("%s did not end within %d s" % (what or command, limit_s)) from None
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise RigError("%s failed in the build root of Debian %s (exit %d):\n%s"
                       % (what or command, apt.Archive(suite).suite, done.returncode,
                          text[-4000:]))
    return text


# -- builds for guests

def _out(suite, *more):
    return os.path.join(paths.CHECKOUT, "build", "suite", suite, *more)


def _jobs():
    return "-j%d --no-print-directory" % (os.cpu_count() or 1)


def module(suite, release):
    """Build tern.ko for a kernel of the suite, if anything changed; returns its path."""
    kdir = headers(suite, release)
    out = _out(suite, release)
    progress("building tern.ko for " + release)
    with paths.locked("module-" + release):
        run(suite, "make %s -C /src module BUILD=/out KVER=%s KDIR=%s" % (_jobs(), release, kdir),
            out, what="building tern.ko for " + release)
    return os.path.join(out, "module", "tern.ko")


def provider(suite):
    """Build the provider in the suite; returns its plugins' paths."""
    out = _out(suite)
    progress("building the provider for Debian " + suite)
    with paths.locked("provider-" + suite):
        run(suite, "make %s -C /src provider BUILD=/out" % _jobs(), out,
            what="building the provider")
    return sorted(glob.glob(os.path.join(out, "provider", "libtern-rdmav*.so")))


def tools(suite):
    """Build the VM tests' tools in the suite; returns the folder that they are in."""
    out = _out(suite)
    progress("building the tests' tools for Debian " + suite)
    with paths.locked("tools-" + suite):
        run(suite, "make %s -C /src/selftests/vm O=/out/vmtools" % _jobs(), out,
            what="building the tests' tools")
    return os.path.join(out, "vmtools")
