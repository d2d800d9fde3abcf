# SPDX-License-Identifier: GPL-2.0
"""NVMe over fabrics: a target in b, the host in a, with moderated CQs, and fio with verification."""

import re

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 240
SECONDS = {"tern-tern": 60, "iwarp-iwarp": 20}
NQN = "nqn.2024-01.org.example:ram"

_TARGET = """set -e
modprobe -a nvmet nvmet-rdma null_blk 2>/dev/null || modprobe -a nvmet nvmet-rdma
mount -t configfs none /sys/kernel/config 2>/dev/null || true
[ -b /dev/nullb0 ] && rmmod null_blk
modprobe null_blk nr_devices=0
d=/sys/kernel/config/nullb/ram
mkdir -p $d; echo 96 >$d/size; echo 1 >$d/memory_backed; echo 512 >$d/blocksize; echo 1 >$d/power
s=/sys/kernel/config/nvmet/subsystems/%(nqn)s
mkdir -p $s; echo 1 >$s/attr_allow_any_host
mkdir -p $s/namespaces/1
echo -n $(ls /dev/ram /dev/nullb0 2>/dev/null | head -n 1) >$s/namespaces/1/device_path
echo 1 >$s/namespaces/1/enable
p=/sys/kernel/config/nvmet/ports/1
mkdir -p $p
echo rdma >$p/addr_trtype; echo ipv4 >$p/addr_adrfam
echo %(addr)s >$p/addr_traddr; echo 4420 >$p/addr_trsvcid
ln -s $s $p/subsystems/%(nqn)s
"""

# nvmet takes its nvmet_config_sem and rdma_cm's handler_mutex in both orders. Lockdep would report
# that once and stop, so it is off while the port is removed.
_TARGET_DOWN = """
prove() {
  [ ! -e /proc/sys/kernel/prove_locking ] || echo $1 >/proc/sys/kernel/prove_locking
}
prove 0
s=/sys/kernel/config/nvmet/subsystems/%(nqn)s
p=/sys/kernel/config/nvmet/ports/1
rm -f $p/subsystems/%(nqn)s; rmdir $p
echo 0 >$s/namespaces/1/enable; rmdir $s/namespaces/1 $s
echo 0 >/sys/kernel/config/nullb/ram/power; rmdir /sys/kernel/config/nullb/ram
sleep 1; rmmod nvmet_rdma nvmet; rmmod null_blk; prove 1
"""

_FIO = ("fio --name=v --filename=%s --direct=1 --ioengine=libaio --iodepth=16 --bsrange=512-65536 "
        "--rw=randrw --verify=crc32c --verify_fatal=1 --verify_backlog=128 --size=64m "
        "--time_based --runtime=%d --output-format=terse")


def _check_kernel_qps(t):
    """No program may connect a kernel QP by its number, not even one of root, as in a container."""
    shown = t.run(t.a, "rdma resource show qp").out
    found = re.search(r"lqpn (\d+) .* comm \[", shown)
    if not t.case("rdma shows the kernel's QPs", found, shown):
        return
    result = t.run(t.a, "/tern/vcm connect-qp %s %s" % (found.group(1), t.b.address))
    t.case("no program can connect one of them", "Operation not permitted" in result.out,
           result.out + result.err)


def _check_moderation(t):
    """ib_core's moderation has set what it wants at a CQ of the host's."""
    shown = t.run(t.a, "rdma -dd resource show cq").out
    t.case("CQs are moderated", re.search(r"drv_event_period_us [1-9]", shown), shown)


def run(t):
    seconds = SECONDS[t.pair]
    words = {"nqn": NQN, "addr": t.b.address}
    t.undo = [lambda: t.b.run(_TARGET_DOWN % words, timeout=60),
              lambda: t.a.run("rmmod nvme_rdma nvme_fabrics; true", timeout=30)]
    t.check_run("target", t.b, _TARGET % words, 60)
    t.run(t.a, "modprobe -a nvme-rdma", check=True)
    t.run(t.a, "rdma dev set %s adaptive-moderation on" % t.dev(t.a), check=True)
    connect = t.check_run(
        "nvme connect", t.a, "nvme connect -t rdma -a %(addr)s -s 4420 -n %(nqn)s -i 2 "
        "--hostnqn=nqn.2014-08.org.nvmexpress:uuid:2cd2c43b-a90a-45c1-a8cd-86b33ab27391 "
        "--hostid=2cd2c43b-a90a-45c1-a8cd-86b33ab27391" % words, 60)
    if connect.rc:
        return
    try:
        t.a.wait_until("ls /dev/nvme[0-9]*n1", timeout=15)
        disk = t.run(t.a, "ls /dev/nvme[0-9]*n1").out.split()[0]
        if t.pair == "iwarp-iwarp":
            _check_kernel_qps(t)
        result = t.check_run("fio verifies %d s of random reads and writes" % seconds, t.a,
                             _FIO % (disk, seconds), seconds + 60)
        fields = result.out.split(";")
        if len(fields) > 47:
            t.note("read %s KiB/s, write %s KiB/s" % (fields[6], fields[47]))
        t.check_run("dd reads the disk", t.a,
                    "dd if=%s of=/dev/null bs=1M count=16 iflag=direct" % disk, 60)
        _check_moderation(t)
    finally:
        t.check_run("nvme disconnect", t.a, "nvme disconnect -n " + NQN, 60)
        t.undo_now()
        # ib_core keeps the CQs that these two shared until the device is removed.
        for guest in t.guests:
            t.check_run("guest %s: the link can be deleted" % guest.name, guest,
                        "rdma link delete " + t.dev(guest))
            t.lab.add_link(guest, t.lab.driver_of(t.pair, guest.name))
