# SPDX-License-Identifier: GPL-2.0
"""The native rig's kernels: User Mode Linux of the newest kernel that Debian has the sources of.

native: as a distribution's kernel (native.config). native-debug: the same with every checker on
(native-debug.config). native.patch mends what of User Mode Linux itself gets in the way. The newest
sources are looked for when there are none yet, and by --rebuild.
"""

import os
import shutil

from . import paths, source

# Name: configuration files, of which the last one that sets something decides; how many times longer
# guests may take for everything; MiB that they get.
_KINDS = {"native": (("native.config",), 1, 1024),
          "native-debug": (("native.config", "native-debug.config"), 4, 2048)}
NAMES = tuple(_KINDS)
DEBUG = "native-debug"

_PATCH = os.path.join(paths.QEMU_DIR, "native.patch")
# The suite whose -backports has new kernels first.
_SUITE = "trixie"


def slow(name):
    """By what time limits are multiplied with it."""
    return _KINDS[name][1]


def mem_mib(name):
    """What memory a guest gets."""
    return _KINDS[name][2]


def _note():
    """A file that says which version it was that was built last."""
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
    """Return (release, folder) of a kernel, having built it when it was not there.

    The folder holds linux, the program; modules/, as in /lib/modules; and tree, for modules.
    """
    kernel, version = _kernel(name, rebuild)
    made = kernel.ensure()
    with open(_note(), "w", encoding="ascii") as f:
        f.write(version + "\n")
    return made


def module(name):
    """Build tern.ko for a kernel, if anything changed; returns its path."""
    kernel, _ = _kernel(name)
    kernel.ensure()
    return kernel.tern(os.path.join(paths.CHECKOUT, "build", name))
