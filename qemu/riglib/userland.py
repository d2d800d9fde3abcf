# SPDX-License-Identifier: GPL-2.0
"""The guests' root image: a read-only squashfs of Debian packages, without kernel, docs or locales.

Built once for a suite and a package list, in one run of mmdebstrap. The kernel
and the rig's own programs come from elsewhere (kernel.py, initrd.py), so neither a new
kernel nor a changed agent rebuilds this.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import time

from . import apt, kernel, paths, tool
from .say import RigError, progress

# Guests with the agent as init, and those that boot like a real machine.
PACKAGES = os.path.join(paths.QEMU_DIR, "packages.guest")
SYSTEMD = os.path.join(paths.QEMU_DIR, "packages.systemd")
LIMIT_S = 1500

_DROP = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*",
         "/usr/share/i18n/*", "/usr/share/lintian/*", "/usr/share/bash-completion/*",
         "/usr/share/zsh/*", "/usr/share/doc-base/*")

# Runs in the finished tree ($1 is its root), with the rights of mmdebstrap.
_FINISH = r"""set -eu
rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/var/log/* "$1"/boot/*
rm -f "$1"/etc/resolv.conf "$1"/etc/apt/apt.conf.d/99mmdebstrap
rm -f "$1"/etc/apt/sources.list
mkdir -p "$1/lib/modules" "$1/rig" "$1/share"
: >"$1/etc/machine-id"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$1/etc/hosts"
for i in 1 2 3 4 5 6 7 8 9; do
    n=$(printf '%%s' "$i" | tr 123456789 abcdefghi)
    printf '10.77.0.%%s %%s\nfd77::%%s %%s\n' "$i" "$n" "$i" "$n" >>"$1/etc/hosts"
done
%(mksquashfs)s "$1" "%(out)s" %(options)s >/dev/null
"""


def _follow(stream, log, tail):
    """Show mmdebstrap's main steps; keep every line in the log, and the last ones in `tail`."""
    for raw in stream:
        line = raw.decode("utf-8", "replace").rstrip()
        log.write(line + "\n")
        tail.append(line)
        del tail[:-25]
        if line.startswith("I: ") and "cleaning" not in line:
            progress("  " + line[3:])
        elif line.startswith(("E:", "W:")):
            progress("  " + line)


def bootstrap(archive, packages, options, target):
    """Run mmdebstrap with these packages of the suite. Its log is beside the images."""
    if os.geteuid():
        tool.find("newuidmap")  # mmdebstrap does not say that it is missing
    argv = [tool.find("mmdebstrap"), "--variant=essential", "--include=" + ",".join(packages),
            "--dpkgopt=force-unsafe-io", '--aptopt=APT::Install-Recommends "false"']
    argv += ["--aptopt=" + option.rstrip(";") for option in apt.options()]
    argv += options + [archive.suite, target] + archive.sources()
    log_path = os.path.join(paths.IMAGES, "mmdebstrap-%s.log" % archive.suite)
    tail = []
    with open(log_path, "w", encoding="utf-8") as log:
        # A session of its own: after a timeout or Ctrl-C apt and dpkg must end as well.
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 env=dict(os.environ, LC_ALL="C.UTF-8"))
        reader = threading.Thread(target=_follow, args=(child.stdout, log, tail))
        reader.start()
        try:
            code = child.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            raise RigError("mmdebstrap was not done after %d s; see %s"
                           % (LIMIT_S, log_path)) from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, 15)
                child.wait(60)
            reader.join(10)
    if code:
        raise RigError("mmdebstrap failed (exit %d); its last lines (all: %s):\n  %s"
                       % (code, log_path, "\n  ".join(tail)))


def _build(archive, listed, image):
    packages = archive.choose(listed)
    work = tempfile.mkdtemp(prefix="userland.", dir=paths.IMAGES)
    if os.geteuid():
        # Without root mmdebstrap writes as a mapped user, who is not in our group.
        os.chmod(work, 0o777)
    out = os.path.join(work, "root.img")
    hook = os.path.join(work, "finish.sh")
    with open(hook, "w", encoding="ascii") as f:
        f.write(_FINISH % {"mksquashfs": tool.find("mksquashfs"), "out": out,
                           "options": kernel.SQUASHFS})
    options = ["--format=null", "--customize-hook=sh %s \"$1\"" % hook]
    # A real machine has all files of its packages.
    if listed == PACKAGES:
        options += ["--dpkgopt=path-exclude=" + pattern for pattern in _DROP]
    progress("building the root image: %d packages of Debian %s" % (len(packages), archive.suite))
    try:
        bootstrap(archive, packages, options, "/dev/null")
        os.chmod(out, 0o644)
        os.rename(out, image)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def image(suite=None, systemd=False):
    """The path of a suite's root image (None: the host's), which may not exist yet."""
    suite = apt.Archive(suite).suite
    with open(SYSTEMD if systemd else PACKAGES, encoding="ascii") as f:
        listed = f.read()
    # The list and the recipe decide, not apt's present versions: `rig up` must not ask apt.
    recipe = listed + _FINISH + kernel.SQUASHFS + repr(_DROP) + suite
    return os.path.join(paths.IMAGES, "root-%s%s-%s.img" % (
        suite, "-systemd" if systemd else "", hashlib.sha256(recipe.encode()).hexdigest()[:16]))


def ensure(suite=None, rebuild=False, systemd=False):
    """The same, built if it is missing."""
    path = image(suite, systemd)
    if os.path.exists(path) and not rebuild:
        return path
    with paths.locked(os.path.basename(path).rsplit("-", 1)[0]):
        if os.path.exists(path) and not rebuild:
            return path
        start = time.monotonic()
        _build(apt.Archive(suite), SYSTEMD if systemd else PACKAGES, path)
        progress("root image ready: %s, %d MiB, %.0f s" % (
            os.path.relpath(path), os.stat(path).st_blocks >> 11, time.monotonic() - start))
    return path
