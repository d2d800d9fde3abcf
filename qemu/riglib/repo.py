# SPDX-License-Identifier: GPL-2.0
"""A package repository in a folder, for guests without a network (--share DIR).

It has the named packages, those that a --systemd guest of a suite lacks to install them, and
package files of our own. In the guest, with the folder at /share:

    apt-get update && apt-get install NAME
"""

import os
import shutil

from . import paths, tool, userland

# The guest's apt source for it.
LIST = "/etc/apt/sources.list.d/rig.list"
SOURCE = "deb [trusted=yes] file:/share ./\n"


def _installed(archive, folder):
    """The dpkg status of the suite's --systemd image, as a file."""
    path = os.path.join(folder, "status")
    text = tool.run(["unsquashfs", "-cat", userland.ensure(archive.suite, systemd=True),
                     "var/lib/dpkg/status"])
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def make(archive, folder, packages=(), files=()):
    """Fill the folder with packages, all that they depend on, and .deb files; then index it.

    Packages that are in the folder already are not fetched again.
    """
    # apt would take a relative path as below its own folders.
    folder = os.path.abspath(folder)
    os.makedirs(os.path.join(folder, "partial"), exist_ok=True)
    if packages:
        with paths.locked("repo-" + archive.suite):
            archive.fetch(packages, folder, _installed(archive, folder))
    for path in files:
        shutil.copy(path, folder)
    index = tool.run(["dpkg-scanpackages", "--multiversion", "."], cwd=folder)
    with open(os.path.join(folder, "Packages"), "w", encoding="utf-8") as f:
        f.write(index)


def use(guest):
    """Make the folder the only source of the guest's apt."""
    guest.write(LIST, SOURCE)
    guest.run("apt-get update", timeout=300, check=True)
