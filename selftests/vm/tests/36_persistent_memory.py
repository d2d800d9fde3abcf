# SPDX-License-Identifier: GPL-2.0
"""FLUSH to persistent memory: of a file and of a device, pinned and on demand; and what is none."""

PAIRS = ("tern-tern",)
LIMIT = 200

# As `ndctl create-namespace -m fsdax` and `-m devdax` do it. The first NVDIMM gets a file system, whose files
# are mapped without a page cache; the second is a device for mmap().
_MAKE = r"""set -e
cd /sys/bus/nd
make() { # the namespace, what it becomes, and that one's driver
    echo $1 >drivers/nd_pmem/unbind
    echo ram >devices/$2/mode
    cat /proc/sys/kernel/random/uuid >devices/$2/uuid
    echo $1 >devices/$2/namespace
    echo $2 >drivers/$3/bind
}
make namespace0.0 pfn0.0 nd_pmem
make namespace1.0 dax1.0 dax_pmem
for i in $(seq 50); do [ -b /dev/pmem0 -a -c /dev/dax1.0 ] && break; sleep 0.1; done
mkfs.ext4 -q -b 4096 /dev/pmem0
mkdir -p /tern/pmem
mount -o dax /dev/pmem0 /tern/pmem
ln -s /dev/dax1.0 /tern/dax
"""


def run(t):
    # They are there a moment after their drivers.
    if t.run(t.b, "modprobe -qa nfit nd_pmem dax_pmem device_dax; "
             "for i in $(seq 20); do [ -b /dev/pmem1 -o -e /tern/dax ] && exit; sleep 0.1; done; "
             "exit 1").rc:
        t.skip("all of it", "the guests have no two NVDIMMs (rig up --pmem); "
               "User Mode Linux cannot have any")
        return
    # It may be there, of an earlier run in the same guests.
    if t.run(t.b, "[ -e /tern/dax ]").rc:
        t.run(t.b, _MAKE, timeout=60, check=True)
    t.tool("vverify", "-m 'pmem/*/*'", timeout=120)
