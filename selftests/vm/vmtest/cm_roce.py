# SPDX-License-Identifier: GPL-2.0
"""The RoCE version by which rdma_cm connects, for the devices on eth0."""

_SET = """set -e
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
mkdir -p /sys/kernel/config/rdma_cm/{0}
echo '{1}' >/sys/kernel/config/rdma_cm/{0}/ports/1/default_roce_mode
cat /sys/kernel/config/rdma_cm/{0}/ports/1/default_roce_mode
rmdir /sys/kernel/config/rdma_cm/{0}
"""
# As the kernel names them.
V1, V2 = "IB/RoCE v1", "RoCE v2"


def use(t, mode):
    """Both guests' rdma_cm begins connections so. Returns whether it can."""
    done = [t.run(guest, _SET.format(t.dev(guest), mode)) for guest in t.guests]
    return all(one.rc == 0 and one.out.strip() == mode for one in done)
