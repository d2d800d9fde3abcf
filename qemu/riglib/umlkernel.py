# SPDX-License-Identifier: GPL-2.0
"""The native rig's kernels: User Mode Linux of the newest kernel that Debian has the sources of.

native: as a distribution's kernel (native.config). native-debug: the same with every checker on
(native-debug.config). Each is built once for its configuration and a source package, in 5 and 10
minutes on two processors; a build that was interrupted goes on where it stopped. The newest package
is looked for when there is none yet, and by --rebuild. What is left of the source tree is what it
takes to build modules: tern.ko for such a kernel is made from it whenever it is asked for.
"""

import glob
import hashlib
import os
import re
import shutil
import tempfile

from . import apt, paths, source, tool
from .say import RigError, progress

# Name: configuration files, of which the last one that sets something decides; how many times longer
# guests may take for everything; MiB that they get.
_KINDS = {"native": (("native.config",), 1, 1024),
          "native-debug": (("native.config", "native-debug.config"), 4, 2048)}
NAMES = tuple(_KINDS)
DEBUG = "native-debug"

# The suite whose -backports has new kernels first.
_SUITE = "trixie"
_FORMAT = "1"  # raise it when what is built, or how, changes

def _siw_parameter(name):
    """What upstream made a constant of the test peer is a parameter here, for tests to set."""
    return (("drivers/infiniband/sw/siw/siw.h", "extern const bool %s;" % name,
             "extern bool %s;" % name),
            ("drivers/infiniband/sw/siw/siw_main.c", "\nconst bool %s;" % name,
             "\nbool {0}; module_param({0}, bool, 0644);".format(name)))


# What is changed in the sources: file, old text, new text.
_PATCHES = (
    # A netdev that is taken down closes its socket, and finds no other when it goes up again.
    ("arch/um/drivers/vector_user.c", "\tfd = strtofd(fdarg);", "\tfd = dup(strtofd(fdarg));"),
    # Taken in softirqs as well: without that lockdep has its one report before tests begin.
    ("arch/um/drivers/vector_kern.c", "\tvector_reset_stats(vp);\n",
     "\tlocal_bh_disable();\n\tvector_reset_stats(vp);\n\tlocal_bh_enable();\n"),
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
) + _siw_parameter("mpa_crc_required") + _siw_parameter("peer_to_peer")


def slow(name):
    """By what time limits are multiplied with it."""
    return _KINDS[name][1]


def mem_mib(name):
    """What memory a guest gets."""
    return _KINDS[name][2]


# ---- sources ----

def _sources():
    """The newest source archive that was fetched, or None."""
    found = glob.glob(os.path.join(paths.IMAGES, "linux-source-*.tar.xz"))
    return max(found, key=os.path.getmtime) if found else None


def _fetch():
    """Fetch the newest sources, unless they are here; returns the archive's path."""
    archive = apt.Archive(_SUITE)
    versions = [tuple(map(int, m.groups())) for m in (
        re.fullmatch(r"linux-source-(\d+)\.(\d+)", n) for n in archive.names("linux-source-")) if m]
    if not versions:
        raise RigError("Debian %s and its -backports have no kernel sources" % _SUITE)
    package = "linux-source-%d.%d" % max(versions)
    version = archive.candidates([package])[package]
    path = os.path.join(paths.IMAGES, "%s_%s.tar.xz" % (package, version))
    if not os.path.exists(path):
        progress("fetching the kernel sources %s (%s)" % (package, version))
        with tempfile.TemporaryDirectory(prefix="source.", dir=paths.IMAGES) as work:
            tool.run(["dpkg-deb", "-x", archive.download(package, work), work], limit_s=300)
            shutil.move(os.path.join(work, "usr/src", package + ".tar.xz"), path)
    os.utime(path)
    return path


# ---- the kernel ----

def _config(name):
    """All settings of a kernel, as one text."""
    settings = {}
    for part in _KINDS[name][0]:
        settings.update(source.settings(os.path.join(paths.QEMU_DIR, part)))
    return "".join("%s=%s\n" % pair for pair in settings.items())


def _folder(name, tarball):
    what = (_config(name), os.path.basename(tarball), _PATCHES, _FORMAT)
    key = hashlib.sha256(repr(what).encode()).hexdigest()[:12]
    return os.path.join(paths.IMAGES, "kernel-%s-%s" % (name, key))


def ensure(name, rebuild=False):
    """Return (release, folder) of a kernel, building it when it is not there.

    The folder holds linux, the program; modules/, as in /lib/modules; and tree, for modules.
    """
    paths.make_dirs()
    tarball = None if rebuild else _sources()
    out = tarball and _folder(name, tarball)
    if not out or not os.path.exists(out):
        with paths.locked("native-kernel", limit_s=source.LIMIT_S):
            tarball = tarball or _fetch()
            out = _folder(name, tarball)
            if rebuild:
                shutil.rmtree(out, ignore_errors=True)
            if not os.path.exists(out):
                _build(name, tarball, out)
    with open(os.path.join(out, "release"), encoding="ascii") as f:
        return f.read().strip(), out


def _patch(tree):
    for name, old, new in _PATCHES:
        path = os.path.join(tree, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if new in text:
            continue
        if text.count(old) == 1:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new))
        else:
            raise RigError("%s has no line '%s'" % (path, old.strip()))


def _build(name, tarball, out):
    work = out + ".work"
    tree, keep = os.path.join(work, "tree"), os.path.join(work, "keep")
    config = os.path.join(work, "config")
    os.makedirs(work, exist_ok=True)
    if not os.path.exists(tree):
        source.unpack(tree, tarball)
    _patch(tree)
    with open(config, "w", encoding="ascii") as f:
        f.write(_config(name))
    source.configure(tree, config, "ARCH=um")
    log = os.path.join(paths.IMAGES, name + "-kernel.log")
    progress("building the %s kernel: once, 300 to 900 s on two processors (log: %s)"
             % (name, os.path.relpath(log)))
    source.compile_kernel(tree, log, name + " kernel", "ARCH=um", "linux", "modules")
    release = tool.run(["make", "-s", "-C", tree, "ARCH=um", "kernelrelease"]).strip()
    shutil.rmtree(keep, ignore_errors=True)
    os.mkdir(keep)
    tool.run(["make", "-s", "-C", tree, "ARCH=um", "INSTALL_MOD_PATH=" + os.path.join(keep, "root"),
              "INSTALL_MOD_STRIP=1", "modules_install"], limit_s=600,
             what="installing the %s kernel's modules" % name)
    os.rename(os.path.join(keep, "root/lib/modules"), os.path.join(keep, "modules"))
    shutil.rmtree(os.path.join(keep, "root"))
    shutil.copy(os.path.join(tree, "linux"), keep)
    source.keep_for_modules(tree, ("um", "x86"))
    os.rename(tree, os.path.join(keep, "tree"))
    with open(os.path.join(keep, "release"), "w", encoding="ascii") as f:
        f.write(release + "\n")
    os.rename(keep, out)
    shutil.rmtree(work)


# ---- tern.ko for it ----

def module(name):
    """Build tern.ko for a kernel, if anything changed; returns its path."""
    tree = os.path.join(ensure(name)[1], "tree")
    beside = os.path.join(paths.CHECKOUT, "build", name)
    progress("building tern.ko for the %s kernel" % name)
    with paths.locked(name + "-module"):
        # With line numbers, for reports; they are taken off again before it is pushed.
        tool.run(["make", "-C", paths.CHECKOUT, "module", "ARCH=um", "KDIR=" + tree,
                  "BUILD=" + beside, "KCFLAGS=-g"], limit_s=900,
                 what="building tern.ko for the %s kernel" % name,
                 env=dict(os.environ, MAKEFLAGS="", MAKELEVEL=""))
    return os.path.join(beside, "module", "tern.ko")
