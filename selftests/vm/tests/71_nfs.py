# SPDX-License-Identifier: GPL-2.0
"""NFS over RDMA: a tree of files is copied from a to a server in b and back, and compared."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LONG = True
LIMIT = 240

# Without systemd, rpcbind and NFS version 3. An overlay, such as the root file system, cannot be
# exported, so /srv/nfs is the root of the NFS tree. No client has a lock to reclaim.
_SERVER = """set -e
modprobe -a nfsd rpcrdma
mkdir -p /srv/nfs
mount -t tmpfs -o size=300m tmpfs /srv/nfs
mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
exportfs -o rw,no_root_squash,no_subtree_check,fsid=0 '*:/srv/nfs'
rpc.mountd -N 2 -N 3
rpc.nfsd -N 3 -V 4.2 4
echo rdma 20049 >/proc/fs/nfsd/portlist
echo Y >/proc/fs/nfsd/v4_end_grace
"""

_SERVER_DOWN = """
rpc.nfsd 0; pkill rpc.mountd; exportfs -ua
umount /proc/fs/nfsd /srv/nfs; sleep 1; rmmod rpcrdma; true
"""

_CLIENT_DOWN = """
cd /; mountpoint -q /mnt/nfs && umount -f /mnt/nfs
rm -rf /tmp/tree /tmp/back /tmp/sums; rmmod rpcrdma; true
"""

# Sizes around the limits above which NFS uses a chunk instead of the message, and several requests.
# The large files are in three folders, to be copied at the same time.
_TREE = r"""mkdir /tmp/tree && cd /tmp/tree && python3 - <<'E' &&
import os, random
draw = random.Random(7)
def file(name, size):
    with open(name, "wb") as f:
        f.write(draw.randbytes(size))
for i in range(2000):
    folder = "%02d/sub" % (i % 20)
    os.makedirs(folder, exist_ok=True)
    file("%s/%d" % (folder, i), draw.choice((0, 1, 700, 1024, 4095, 4097, draw.randrange(30000))))
for i, size in enumerate((1 << 20, (4 << 20) + 1, (16 << 20) - 3)):
    file("%02d/large" % i, size)
E
find . -type f -print0 | xargs -0 md5sum >/tmp/sums && [ $(wc -l </tmp/sums) = 2003 ]"""

# Four at a time, so that several requests are in flight.
_COPY = "mkdir -p %(to)s && cd %(of)s && ls | xargs -P 4 -I {} cp -r {} %(to)s/ && sync -f %(to)s"
_SAME = "cd %s && [ $(find . -type f | wc -l) = 2003 ] && md5sum --quiet -c /tmp/sums"


def _check_copies(t):
    t.check_run("a tree of 2003 files is made", t.a, _TREE, 60)
    t.check_run("it is copied to the server", t.a, _COPY % {"of": "/tmp/tree", "to": "/mnt/nfs/tree"}, 120)
    t.b.write("/tmp/sums", t.run(t.a, "cat /tmp/sums").out)
    t.check_run("the server has it", t.b, _SAME % "/srv/nfs/tree", 60)
    t.check_run("the client reads the largest file", t.a,
                "cmp /tmp/tree/02/large /mnt/nfs/tree/02/large", 60)
    t.run(t.a, "sync; echo 3 >/proc/sys/vm/drop_caches", check=True)
    t.check_run("it is copied back, with an empty cache", t.a,
                _COPY % {"of": "/mnt/nfs/tree", "to": "/tmp/back"}, 120)
    t.check_run("the copy is the same", t.a, _SAME % "/tmp/back", 60)


def run(t):
    missing = t.run(t.b, "which exportfs mount.nfs")
    if missing.rc:
        t.skip("NFS", "the image has no NFS programs")
        return
    t.undo = [lambda: t.a.run(_CLIENT_DOWN, timeout=60),
              lambda: t.b.run(_SERVER_DOWN, timeout=60)]
    t.check_run("server", t.b, _SERVER, 60)
    mounted = t.check_run(
        "mount", t.a, "modprobe -a nfsv4 rpcrdma; mkdir -p /mnt/nfs; mount -t nfs4 "
        "-o vers=4.2,proto=rdma,port=20049 %s:/ /mnt/nfs && grep nfs4.*proto=rdma /proc/mounts"
        % t.b.address, 60)
    if mounted.rc:
        return
    _check_copies(t)
    t.check_run("unmount", t.a, "umount /mnt/nfs", 60)
    t.undo_now()
    for guest in t.guests:
        left = t.lab.leaks(guest)
        t.case("guest %s: NFS left no object" % guest.name, not left, left)
        t.check_run("guest %s: the link can be deleted" % guest.name, guest,
                    "rdma link delete " + t.dev(guest))
        t.lab.add_link(guest, t.lab.driver_of(t.pair, guest.name))
