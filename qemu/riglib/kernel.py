# SPDX-License-Identifier: GPL-2.0
"""The guests' kernel: a Debian linux-image package of a suite, unpacked beside the root image.

Makes vmlinux (booted through PVH: decompressing a bzImage takes 3 s under emulation) and a squashfs of
all its modules. In the host's own suite the default version is the one whose headers the host has, for
which tern.ko is built. In another suite it is that suite's default kernel, for which its build root
gets headers (buildroot.py).
"""

import glob
import gzip
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile

from . import apt, debug, paths, tool
from .say import RigError, progress

_FORMAT = "5"  # raise it when the contents of a kernel's folder change

# Not compressed, because decompression is emulated. No fragments, so that a small file is read without
# its neighbours. (ext4 would work, but loading its module takes a fifth of the boot.)
SQUASHFS = "-noI -noD -noF -noX -no-fragments -no-progress -one-file-system -b 64K -noappend"


def _order(version):
    """A sort key that puts 6.1.0-9 before 6.1.0-56."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", version)]


def _flavour_ok(release):
    return release.endswith("-amd64") and not re.search(r"-(cloud|rt)-amd64$", release)


def with_headers():
    """Kernel releases whose headers are installed, oldest first."""
    found = [os.path.basename(path)[len("linux-headers-"):]
             for path in glob.glob("/usr/src/linux-headers-*-amd64")]
    return sorted(filter(_flavour_ok, found), key=_order)


# --kernel newest: of the suite and its -backports.
NEWEST = "newest"
# The versions of linux-image-amd64. A host may also have newer ones from -backports.
_DEFAULT = {"bookworm": "6.1.", "trixie": "6.12."}


def _offered(archive, version):
    """The suite's newest release for --kernel VERSION, or its default one."""
    if not version:
        for name in archive.depends("linux-image-amd64"):
            found = re.fullmatch(r"linux-image-(\d+\.\d+\.\d+\S*-amd64)", name)
            if found:
                return found.group(1)
    # Modules must be buildable for the newest one, so it must have headers.
    prefix = "linux-headers-" if version == NEWEST else "linux-image-"
    names = archive.names(prefix + (version if version and version != NEWEST else ""))
    releases = [name[len(prefix):] for name in names if re.match(prefix + r"\d+\.\d+\.\d+", name)]
    releases = [r for r in releases if _flavour_ok(r) and _means(version, r)]
    if not releases:
        raise RigError("Debian %s and its -backports have no kernel %s; such as 6.12, a release as "
                       "uname -r prints it, or 'newest' can be asked for"
                       % (archive.suite, version or "at all"))
    return max(releases, key=_order)


def _means(version, release):
    return version in (None, NEWEST, release) or re.match(re.escape(version) + r"[.+-]", release)


def choose(version=None, suite=None, anew=False):
    """The kernel release (as `uname -r` prints it) for --suite and --kernel, or for no option.

    The archive's answer is kept, so that a rig does not change its kernel between two runs. `anew`
    asks again.
    """
    archive = apt.Archive(suite)
    if archive.suite == apt.host_suite():
        installed = [r for r in with_headers() if version != NEWEST and _means(version, r)]
        if not version:
            installed = [r for r in installed if os.path.exists("/lib/modules/%s/build" % r)]
            default = _DEFAULT.get(archive.suite, "")
            installed = [r for r in installed if r.startswith(default)] or installed
        if installed:
            return installed[-1]
    note = os.path.join(paths.IMAGES, "release-%s-%s" % (archive.suite, version or "default"))
    if anew or not os.path.exists(note):
        paths.make_dirs()
        release = _offered(archive, version)
        with open(note, "w", encoding="ascii") as f:
            f.write(release + "\n")
    with open(note, encoding="ascii") as f:
        return f.read().strip()


def _decompress(payload):
    """The compressed stream in a bzImage, found by its magic number."""
    if payload[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(payload)
    if payload[:2] == b"\x1f\x8b":
        return gzip.decompress(payload)
    if payload[:4] == b"\x28\xb5\x2f\xfd":
        # The four bytes after the stream are its length: zstd reports an error after it has written all.
        done = subprocess.run([tool.find("zstd"), "-dcq"], input=payload, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        return done.stdout
    return b""


def _extract_vmlinux(bzimage, vmlinux):
    """Write the ELF file in a bzImage. False if its compression is not known."""
    with open(bzimage, "rb") as f:
        image = f.read()
    if image[0x202:0x206] != b"HdrS":
        return False
    setup_sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    elf = _decompress(image[start:start + length])
    if elf[:4] != b"\x7fELF":
        return False
    with open(vmlinux, "wb") as f:
        f.write(elf)
    return True


def _modules_image(root, release, out):
    """Decompress the modules once, not at each load, and make their image."""
    modules = os.path.join(root, "usr/lib/modules", release)
    packed = [os.path.join(at, name) for at, _, names in os.walk(modules)
              for name in names if name.endswith((".ko.xz", ".ko.zst"))]
    for path in packed:
        with open(path, "rb") as f:
            raw = f.read()
        raw = lzma.decompress(raw) if path.endswith(".xz") else _decompress(raw)
        with open(path.rsplit(".", 1)[0], "wb") as f:
            f.write(raw)
        os.unlink(path)
    tool.run(["depmod", "-b", root, release], what="depmod")
    tool.run(["mksquashfs", os.path.join(root, "usr/lib/modules"), out, "-all-root"]
             + SQUASHFS.split(), what="mksquashfs of the modules", limit_s=300)


def folder_name(release):
    """The paths of the files that ensure() makes."""
    return "kernel-%s-%s" % (release, _FORMAT)


def ensure(version=None, suite=None, rebuild=False):
    """Return (release, folder), which holds kernel, modules.img, boot-modules/, disk-modules/."""
    if version == debug.NAME:
        return debug.kernel(_install_debug, rebuild).ensure()
    release = choose(version, suite, rebuild)
    folder = os.path.join(paths.IMAGES, folder_name(release))
    if os.path.exists(folder) and not rebuild:
        return release, folder
    with paths.locked("kernel"):
        if os.path.exists(folder):
            if not rebuild:
                return release, folder
            shutil.rmtree(folder)
        archive = apt.Archive(suite)
        package = "linux-image-" + release
        if package not in archive.candidates([package]):
            raise RigError("Debian %s has no %s any more: 'qemu/rig image --suite %s --rebuild' "
                           "takes its newest; on the host, install newer headers first ('apt-get "
                           "update', 'apt-get install linux-headers-amd64')"
                           % (archive.suite, package, archive.suite))
        work = tempfile.mkdtemp(prefix="kernel.", dir=paths.IMAGES)
        try:
            root = _fetch(archive, package, work)
            progress("making the image of its modules")
            keep = os.path.join(work, "keep")
            os.mkdir(keep)
            bzimage = _bzimage(root, release)
            if not _extract_vmlinux(bzimage, os.path.join(keep, "kernel")):
                progress("cannot take vmlinux out of the bzImage: guests will boot slower")
                shutil.copy(bzimage, os.path.join(keep, "kernel"))
            _modules(root, release, keep)
            os.rename(keep, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return release, folder


def _fetch(archive, package, work):
    """Unpack an image package in a new root, and the packages to which newer ones move their files."""
    progress("fetching the kernel package " + package)
    root = os.path.join(work, "root")
    release = package[len("linux-image-"):]
    parts = [name for name in archive.depends(package) if name.endswith("-" + release)]
    archive.unpack([package] + parts, root)
    _merge_usr(root)
    return root


def _merge_usr(root):
    """Make /lib a link to /usr/lib, as in a system: packages have modules in either."""
    lib = os.path.join(root, "lib")
    os.makedirs(os.path.join(root, "usr/lib"), exist_ok=True)
    if os.path.islink(lib):
        return
    if os.path.exists(lib):
        tool.run(["cp", "-a", "--link", lib + "/.", os.path.join(root, "usr/lib/")])
        shutil.rmtree(lib)
    os.symlink("usr/lib", lib)


def _bzimage(root, release):
    for place in ("boot/vmlinuz-" + release, "usr/lib/modules/%s/vmlinuz" % release):
        if os.path.exists(os.path.join(root, place)):
            return os.path.join(root, place)
    raise RigError("the packages of kernel %s hold no vmlinuz" % release)


def _modules(root, release, keep):
    _modules_image(root, release, os.path.join(keep, "modules.img"))
    tree = os.path.join(root, "usr/lib/modules", release)
    _boot_modules(tree, _BOOT, os.path.join(keep, "boot-modules"), "order")
    _boot_modules(tree, _DISK, os.path.join(keep, "disk-modules"), "order-disk")


def _install_debug(root, release, bzimage, keep):
    """debug.kernel()'s build, in the form for guests. KASAN does not work with entry through PVH."""
    _merge_usr(root)
    shutil.copy(bzimage, os.path.join(keep, "kernel"))
    _modules(root, release, keep)


# The modules for the root image and the agent's port; virtio_net is loaded from the image.
_BOOT = ("virtio_pci", "virtio_blk", "virtio_console", "squashfs", "overlay")
# The further modules for a guest with a disk of its own. (ext4 requests the first by name, in kernels
# that have it.)
_DISK = ("crc32c_generic?", "ext4")


def _boot_modules(tree, names, out, order_name):
    """Copy the modules that the initramfs loads, with a file of their order."""
    depends, where = {}, {}
    with open(os.path.join(tree, "modules.dep"), encoding="ascii") as f:
        for line in f:
            path, _, needs = line.strip().partition(":")
            where[os.path.basename(path)[:-3].replace("-", "_")] = path
            depends[path] = needs.split()
    with open(os.path.join(tree, "modules.builtin"), encoding="ascii") as f:
        builtin = {os.path.basename(line.strip())[:-3].replace("-", "_") for line in f}
    order = []
    for name in names:
        optional, name = name.endswith("?"), name.rstrip("?")
        if name in where:
            # modules.dep lists a module's dependencies with the innermost last.
            order += list(reversed(depends[where[name]])) + [where[name]]
        elif name not in builtin and not optional:
            raise RigError("this kernel has no module " + name)
    order = list(dict.fromkeys(order))
    os.mkdir(out)
    for path in order:
        shutil.copy(os.path.join(tree, path), out)
    with open(os.path.join(out, order_name), "w", encoding="ascii") as f:
        f.writelines(os.path.basename(path) + "\n" for path in order)
