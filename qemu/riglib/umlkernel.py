# SPDX-License-Identifier: GPL-2.0
"""The native rig's kernels: User Mode Linux of the newest kernel that Debian has the sources of.

native: as a distribution's kernel (native.config). native-debug: the same with every checker on
(native-debug.config). The newest sources are looked for when there are none yet, and by --rebuild.
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

# The suite whose -backports has new kernels first.
_SUITE = "trixie"

# What is changed in the sources: file, old text, new text.
_PATCHES = (
    # A netdev that is taken down closes its socket, and finds no other when it goes up again.
    ("arch/um/drivers/vector_user.c", "\tfd = strtofd(fdarg);", "\tfd = dup(strtofd(fdarg));"),
    # Taken in softirqs as well: without that lockdep has its one report before tests begin.
    ("arch/um/drivers/vector_kern.c", "\tvector_reset_stats(vp);\n",
     "\tlocal_bh_disable();\n\tvector_reset_stats(vp);\n\tlocal_bh_enable();\n"),
    # As other Ethernet: its MTU is what it is set to, up to what it has buffers for, and its address
    # changes while it is up.
    ("arch/um/drivers/vector_kern.c", "\tdev->mtu = get_mtu(def);\n",
     "\tdev->mtu = get_mtu(def);\n\tdev->max_mtu = dev->mtu;\n"
     "\tdev->priv_flags |= IFF_LIVE_ADDR_CHANGE;\n"),
    # Who has used up its budget is polled again and has not completed: a busy poller that finds both
    # adds it to the list of those to be polled twice.
    ("arch/um/drivers/vector_kern.c", "\tif (work_done <= budget)", "\tif (work_done < budget)"),
    # A serial line that was throttled once hears no more of what comes.
    ("arch/um/drivers/line.c",
     "\tdeactivate_chan(line->chan_in, line->read_irq);\n\tline->throttled = 1;",
     "\tline->throttled = true;"),
    # Two CPUs may read one serial line at once, by interrupt and when it is no longer throttled,
    # and mix up its bytes.
    ("arch/um/drivers/chan_kern.c", "void chan_interrupt(struct line *line, int irq)\n{",
     "static void read_chan(struct line *line, int irq)\n{"),
    ("arch/um/drivers/chan_kern.c", " out:\n\ttty_flip_buffer_push(port);\n}", """\
 out:
\ttty_flip_buffer_push(port);
}

void chan_interrupt(struct line *line, int irq)
{
\tstatic DEFINE_SPINLOCK(lock);
\tunsigned long flags;

\tspin_lock_irqsave(&lock, flags);
\tread_chan(line, irq);
\tspin_unlock_irqrestore(&lock, flags);
}"""),
) + source.SIW_PARAMETERS


def slow(name):
    """By what time limits are multiplied with it."""
    return _KINDS[name][1]


def mem_mib(name):
    """What memory a guest gets."""
    return _KINDS[name][2]


def _version(fresh):
    """Which sources: noted when they were first looked for."""
    note = os.path.join(paths.IMAGES, "release-native-source")
    if fresh or not os.path.exists(note):
        paths.make_dirs()
        version = source.newest_version(_SUITE)
        with open(note, "w", encoding="ascii") as f:
            f.write(version + "\n")
    with open(note, encoding="ascii") as f:
        return f.read().strip()


def _kernel(name, fresh=False):
    config = {}
    for part in _KINDS[name][0]:
        config.update(source.settings(os.path.join(paths.QEMU_DIR, part)))

    def keep(tree, _, out):
        made.install_modules(tree, os.path.join(out, "root"), "INSTALL_MOD_STRIP=1")
        os.rename(os.path.join(out, "root/lib/modules"), os.path.join(out, "modules"))
        shutil.rmtree(os.path.join(out, "root"))
        shutil.copy(os.path.join(tree, "linux"), out)

    made = source.Kernel(name, source.archive(_SUITE, _version(fresh), fresh), config, keep, _PATCHES,
                         arch="um", image="linux", seconds="300 to 900")
    return made


def ensure(name, rebuild=False):
    """Return (release, folder) of a kernel, having built it when it was not there.

    The folder holds linux, the program; modules/, as in /lib/modules; and tree, for modules.
    """
    return _kernel(name, rebuild).ensure(rebuild)


def module(name):
    """Build tern.ko for a kernel, if anything changed; returns its path."""
    kernel = _kernel(name)
    kernel.ensure()
    return kernel.tern(os.path.join(paths.CHECKOUT, "build", name))
