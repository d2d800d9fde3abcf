# SPDX-License-Identifier: GPL-2.0
"""The User Mode Linux: Debian 12's 6.1 sources with uml.config, and the modules for it."""

import os
import re
import shutil

from riglib import debug, paths, source
from riglib.say import progress

from . import BUILD, HERE, TOP

_CONFIG = os.path.join(HERE, "uml.config")
# Sources of x86's CRCs, which UML does not build, by module.
_X86_CRC = ("arch/x86/crypto/crc32-pclmul_glue.c", "arch/x86/crypto/crc32-pclmul_asm.S",
            "arch/x86/crypto/crc32c-intel_glue.c", "arch/x86/crypto/crc32c-pcl-intel-asm_64.S")
_X86_CRC_MODULES = ("crc32-pclmul", "crc32c-intel")
# What the benchmark's module shares with the tests'.
_CONSUMER = os.path.join(TOP, "selftests/vm/modules/consumer.h")
_KERNEL_MODULES = ("net/ipv4/udp_tunnel.ko", "net/ipv6/ip6_udp_tunnel.ko", "lib/libcrc32c.ko",
                   "drivers/infiniband/sw/rxe/rdma_rxe.ko")


# Changes of the sources: file, old text, new text.
_PATCHES = (
    # Room for the registers of CPUs with AMX. Without it init dies in "ptrace set fp regs".
    ("arch/x86/um/user-offsets.c", "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
     "DEFINE_LONGS(HOST_FP_SIZE, 11264);"),
    # Code as in x86's own kernels: direct calls, as all is within 2 GiB (by boot.py), short copies
    # inline, no vector registers.
    ("arch/um/Makefile", "-mcmodel=large", "-mcmodel=small"),
    ("arch/x86/Makefile.um", "KBUILD_CFLAGS += -fno-builtin -m64", "KBUILD_CFLAGS += -m64"),
    ("arch/x86/Makefile.um", "ifeq ($(CONFIG_CC_IS_CLANG),y)", "ifeq (y,y)"),
    # Compare and set addresses by words of 64 bits.
    ("arch/x86/um/Kconfig", "\tselect DCACHE_WORD_ACCESS\n",
     "\tselect DCACHE_WORD_ACCESS\n\tselect HAVE_EFFICIENT_UNALIGNED_ACCESS\n"),
)


def _alternative(name):
    """A patch: x86 chooses this code at boot for a CPU like this one, UML does not."""
    return ("arch/x86/lib/%s_64.S" % name,
            'ALTERNATIVE_2 "jmp %s_orig", "", X86_FEATURE_REP_GOOD, \\\n'
            '\t\t      "jmp %s_erms", X86_FEATURE_ERMS' % (name, name),
            "jmp %s_erms" % name)


def _patches():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        erms = re.search(r"(?m)^flags\s*:.*\berms\b", f.read())
    return _PATCHES + ((_alternative("memcpy"), _alternative("memset")) if erms else ())


def _keep(tree, _, out):
    shutil.copy(os.path.join(tree, "linux"), out)
    for folder, names in (("ko", _KERNEL_MODULES), ("x86-crc", _X86_CRC)):
        os.mkdir(os.path.join(out, folder))
        for name in names:
            shutil.copy(os.path.join(tree, name), os.path.join(out, folder))


def kernel(rebuild=False):
    """The kernel, a source.Kernel."""
    return source.Kernel("uml", debug.sources(rebuild), source.settings(_CONFIG), _keep,
                         kept=_KERNEL_MODULES + _X86_CRC, patches=_patches(), arch="um",
                         image="linux", seconds="about 300", rebuild=rebuild)


# ---- modules ----

def _links(src, dst):
    """Make a tree of links to `src`: Kbuild builds in the folder of the sources."""
    for at, _, names in os.walk(src):
        to = os.path.join(dst, os.path.relpath(at, src))
        os.makedirs(to, exist_ok=True)
        for name in names:
            _link(os.path.join(at, name), to)


def _link(path, folder):
    link = os.path.join(folder, os.path.basename(path))
    if os.path.islink(link):
        os.unlink(link)
    os.symlink(path, link)


def modules(made, tern_ko=None):
    """Build all modules of kernel(), which is built already. Returns the folder that the guest
    loads them from."""
    work = os.path.join(BUILD, "uml", os.path.basename(made.folder))
    progress("building modules for it")
    with paths.locked("uml-modules"):
        files = [os.path.join(made.folder, "ko", os.path.basename(name)) for name in _KERNEL_MODULES]
        for name, sources, names in (
                ("x86-crc", (os.path.join(made.folder, "x86-crc"), os.path.join(HERE, "x86-crc")),
                 _X86_CRC_MODULES),
                ("module", (os.path.join(HERE, "module"), _CONSUMER), ("rdma_bench",))):
            where = os.path.join(work, name)
            for path in sources:
                (_link if os.path.isfile(path) else _links)(path, where)
            made.make(made.tree, "M=" + where, "modules", what=" and ".join(names))
            files += [os.path.join(where, name + ".ko") for name in names]
        ko = os.path.join(work, "ko")
        os.makedirs(ko, exist_ok=True)
        for path in files:
            shutil.copy(path, ko)
        shutil.copy(tern_ko or made.tern(os.path.join(work, "tern")), os.path.join(ko, "tern.ko"))
    return ko
