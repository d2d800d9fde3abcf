# SPDX-License-Identifier: GPL-2.0
"""The User Mode Linux: Debian's 6.1 sources with uml.config, and modules built against it.

Built once for an uml.config and a version of the source package, in about five minutes on two
processors. What is left of the tree is what it takes to build modules.
"""

import glob
import os
import re
import shutil

from riglib import paths, source, tool
from riglib.say import RigError, progress

from . import BUILD, HERE, TOP

CONFIG = os.path.join(HERE, "uml.config")
_FORMAT = "2"  # raise it when what is built, or how, changes
_FOR_MODULES = ("Makefile", "Module.symvers", ".config", ".kernelrelease", "arch", "include",
                "scripts", "tools")
# The sources of x86's CRCs, of which UML builds nothing, and of what modules.
_X86_CRC = ("arch/x86/crypto/crc32-pclmul_glue.c", "arch/x86/crypto/crc32-pclmul_asm.S",
            "arch/x86/crypto/crc32c-intel_glue.c", "arch/x86/crypto/crc32c-pcl-intel-asm_64.S")
_X86_CRC_MODULES = ("crc32-pclmul", "crc32c-intel")
_KERNEL_MODULES = ("net/ipv4/udp_tunnel.ko", "net/ipv6/ip6_udp_tunnel.ko", "lib/libcrc32c.ko",
                   "drivers/infiniband/sw/rxe/rdma_rxe.ko")


def folder():
    """Where the kernel is, or will be."""
    return os.path.join(BUILD, "uml", "kernel-" + source.key(CONFIG, _FORMAT, _patches()))


# What is changed in the sources: file, old text, new text.
_PATCHES = (
    # Room for the registers of CPUs with AMX: without it, init dies in "ptrace set fp regs".
    ("arch/x86/um/user-offsets.c", "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
     "DEFINE_LONGS(HOST_FP_SIZE, 11264);"),
    # Code as x86's own kernels have it: calls that are direct, since all is within 2 GiB (boot.py
    # sees to that); short copies in line; no vector registers.
    ("arch/um/Makefile", "-mcmodel=large", "-mcmodel=small"),
    ("arch/x86/Makefile.um", "KBUILD_CFLAGS += -fno-builtin -m64", "KBUILD_CFLAGS += -m64"),
    ("arch/x86/Makefile.um", "ifeq ($(CONFIG_CC_IS_CLANG),y)", "ifeq (y,y)"),
    # Addresses compared, and set, by words of 64 bits.
    ("arch/x86/um/Kconfig", "\tselect DCACHE_WORD_ACCESS\n",
     "\tselect DCACHE_WORD_ACCESS\n\tselect HAVE_EFFICIENT_UNALIGNED_ACCESS\n"),
)


def _alternative(name):
    """x86 chooses when it boots, by the CPU, which UML does not: chosen here, for this one."""
    return ("arch/x86/lib/%s_64.S" % name,
            'ALTERNATIVE_2 "jmp %s_orig", "", X86_FEATURE_REP_GOOD, \\\n'
            '\t\t      "jmp %s_erms", X86_FEATURE_ERMS' % (name, name),
            "jmp %s_erms" % name)


def _patches():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        erms = re.search(r"(?m)^flags\s*:.*\berms\b", f.read())
    return _PATCHES + ((_alternative("memcpy"), _alternative("memset")) if erms else ())


def _patch(tree):
    for name, old, new in _patches():
        path = os.path.join(tree, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if text.count(old) == 1:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new))
        elif new not in text:
            raise RigError("%s has no line '%s'" % (path, old))


def _keep_for_modules(tree):
    """Throw away what no module's build reads."""
    for entry in list(os.scandir(tree)):
        if entry.name in _FOR_MODULES:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    for other in glob.glob(os.path.join(tree, "arch", "*")):
        if os.path.isdir(other) and os.path.basename(other) not in ("um", "x86"):
            shutil.rmtree(other)


def _build(out):
    work = out + ".work"
    tree = os.path.join(work, "tree")
    os.makedirs(work, exist_ok=True)
    if not os.path.exists(tree):
        source.unpack(tree)
    _patch(tree)
    source.configure(tree, CONFIG, "ARCH=um")
    log = os.path.join(BUILD, "uml", "kernel.log")
    progress("building the User Mode Linux: once, about 300 s on two processors (log: %s)"
             % os.path.relpath(log))
    source.compile_kernel(tree, log, "User Mode Linux", "ARCH=um", "linux", "modules")
    shutil.copy(os.path.join(tree, "linux"), work)
    for at in ("ko", "x86-crc"):
        shutil.rmtree(os.path.join(work, at), ignore_errors=True)
        os.mkdir(os.path.join(work, at))
    for name in _KERNEL_MODULES:
        shutil.copy(os.path.join(tree, name), os.path.join(work, "ko"))
    for name in _X86_CRC:
        shutil.copy(os.path.join(tree, name), os.path.join(work, "x86-crc"))
    _keep_for_modules(tree)
    os.rename(work, out)


def ensure(rebuild=False):
    """Return the kernel's folder, building it when it is not there."""
    out = folder()
    if rebuild:
        shutil.rmtree(out, ignore_errors=True)
    if not os.path.exists(out):
        os.makedirs(os.path.dirname(out), exist_ok=True)
        with paths.locked("uml-kernel", limit_s=source.LIMIT_S):
            if not os.path.exists(out):
                _build(out)
    return out


# ---- modules ----

def _links(src, dst):
    """A tree of links to `src`, for Kbuild builds where it finds the sources."""
    for at, _, names in os.walk(src):
        to = os.path.join(dst, os.path.relpath(at, src))
        os.makedirs(to, exist_ok=True)
        for name in names:
            link = os.path.join(to, name)
            if os.path.islink(link):
                os.unlink(link)
            os.symlink(os.path.join(at, name), link)


def _make_modules(tree, where, names):
    tool.run(["make", "-C", tree, "ARCH=um", "M=" + where, "modules"], limit_s=600,
             what="building %s for User Mode Linux" % " and ".join(names),
             env=dict(os.environ, MAKEFLAGS="", MAKELEVEL=""))
    return [os.path.join(where, name + ".ko") for name in names]


def modules(out, tern_ko=None):
    """Build, or bring up to date, all modules; returns the folder that guest loads them from."""
    tree, ko = os.path.join(out, "tree"), os.path.join(out, "ko")
    progress("building modules for it")
    with paths.locked("uml-modules"):
        made = []
        for src, names in (("x86-crc", _X86_CRC_MODULES), ("module", ("rdma_bench",))):
            where = os.path.join(out, src)
            _links(os.path.join(HERE, src), where)
            made += _make_modules(tree, where, names)
        if not tern_ko:
            tool.run(["make", "-C", TOP, "module", "ARCH=um", "KDIR=" + tree,
                      "BUILD=" + os.path.join(out, "tern")], limit_s=900,
                     what="building tern.ko for User Mode Linux",
                     env=dict(os.environ, MAKEFLAGS="", MAKELEVEL=""))
            tern_ko = os.path.join(out, "tern/module/tern.ko")
        for path in made:
            shutil.copy(path, ko)
        shutil.copy(tern_ko, os.path.join(ko, "tern.ko"))
    return ko
