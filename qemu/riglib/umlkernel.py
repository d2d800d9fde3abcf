# SPDX-License-Identifier: GPL-2.0
"""The native rig's kernels: User Mode Linux of the newest kernel whose sources Debian has.

native: like a distribution's kernel (native.config). native-debug: the same with all checkers
(native-debug.config). native.patch repairs parts of User Mode Linux itself. The newest sources are
looked up when there are none yet, and by --rebuild.
"""

import os
import shutil

from . import paths, source

# Name: configuration files (later ones override earlier ones); the factor of all time limits; the
# guests' MiB.
_KINDS = {"native": (("native.config",), 1, 1024),
          "native-debug": (("native.config", "native-debug.config"), 4, 2048)}
NAMES = tuple(_KINDS)
DEBUG = "native-debug"

_PATCH = os.path.join(paths.QEMU_DIR, "native.patch")
# The suite whose -backports gets new kernels first.
_SUITE = "trixie"


def slow(name):
    """The factor of all time limits with it."""
    return _KINDS[name][1]


def mem_mib(name):
    """A guest's memory in MiB."""
    return _KINDS[name][2]


def _note():
    """The file with the version that was built last."""
    return os.path.join(paths.IMAGES, "release-native-source")


def _kernel(name, rebuild=False):
    """The kernel, a source.Kernel, and the version of its sources."""
    config = {}
    for part in _KINDS[name][0]:
        config.update(source.settings(os.path.join(paths.QEMU_DIR, part)))

    def keep(tree, _, out):
        made.install_modules(tree, os.path.join(out, "root"), "INSTALL_MOD_STRIP=1")
        os.rename(os.path.join(out, "root/lib/modules"), os.path.join(out, "modules"))
        shutil.rmtree(os.path.join(out, "root"))
        shutil.copy(os.path.join(tree, "linux"), out)

    version = None
    if not rebuild and os.path.exists(_note()):
        with open(_note(), encoding="ascii") as f:
            version = f.read().strip()
    version = version or source.newest_version(_SUITE)
    made = source.Kernel(name, source.archive(_SUITE, version, rebuild), config, keep,
                         patches=source.SIW_PARAMETERS, patch_file=_PATCH, arch="um", image="linux",
                         seconds="300 to 900", rebuild=rebuild)
    return made, version


def ensure(name, rebuild=False):
    """Return (release, folder) of a kernel; builds it if it is missing.

    The folder holds linux, the program; modules/, as in /lib/modules; and tree, for modules.
    """
    kernel, version = _kernel(name, rebuild)
    made = kernel.ensure()
    with open(_note(), "w", encoding="ascii") as f:
        f.write(version + "\n")
    return made


def kernel(name):
    """The kernel, a source.Kernel, to build modules with."""
    return _kernel(name)[0]


def module(name):
    """Build tern.ko for a kernel, if anything changed; returns its path."""
    kernel, _ = _kernel(name)
    kernel.ensure()
    return kernel.tern(os.path.join(paths.CHECKOUT, "build", name))
