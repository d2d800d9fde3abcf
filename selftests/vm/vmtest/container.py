# SPDX-License-Identifier: GPL-2.0
"""The root of another Debian release in the guests, as in a container.

The rig gives each guest the root image of every other suite as a disk, whose serial number has the
suite's name. Programs there use the guest's kernel, devices and network, and their own libibverbs and
provider directory.
"""

import shlex

_SET_UP = r"""set -e
suite=%(suite)s top=/run/container/%(suite)s
[ ! -e $top/ready ] || exit 0
dev=
for disk in /sys/block/vd*; do
    if [ "$(cat $disk/serial)" = root-$suite ]; then dev=/dev/${disk##*/}; fi
done
if [ -z "$dev" ]; then
    echo "no disk has the root of $suite: start the guests with --containers" >&2
    exit 1
fi
mkdir -p $top/disk $top/own $top/root
mount -t squashfs -o ro $dev $top/disk
mount -t tmpfs none $top/own
mkdir $top/own/upper $top/own/work
mount -t overlay -o lowerdir=$top/disk,upperdir=$top/own/upper,workdir=$top/own/work none $top/root
mkdir -p $top/root/dev $top/root/sys $top/root/proc
for name in dev sys; do
    mount --rbind /$name $top/root/$name
    mount --make-rslave $top/root/$name
done
mount -t proc none $top/root/proc
lib=$(dirname "$(ls $top/root/usr/lib/*/libibverbs.so.1)")/libibverbs
cp /tern/libtern-rdmav*.so $lib/
mkdir -p $top/root/etc/libibverbs.d
echo driver tern >$top/root/etc/libibverbs.d/tern.driver
cp /etc/hosts $top/root/etc/hosts
touch $top/ready
"""

_CLEAR = r"""top=/run/container/%(suite)s
rm -f $top/ready
for what in root/proc root/sys root/dev root own disk; do umount -R $top/$what 2>/dev/null; done; true"""


class Container:
    """The root of a suite, in one guest or in both."""

    def __init__(self, test, suite):
        self.suite, self._test = suite, test
        # Also after an incomplete set-up.
        test.undo.append(self.clear)
        for guest in test.guests:
            test.run(guest, _SET_UP % {"suite": suite}, timeout=60, check=True)

    def command(self, words):
        """The shell command that runs a program, with its arguments, in this root."""
        return "chroot /run/container/%s/root %s" % (self.suite, words)

    def shell(self, script):
        """The same for a shell script."""
        return self.command("sh -c " + shlex.quote(script))

    def clear(self):
        """Unmount it all."""
        for guest in self._test.guests:
            guest.run(_CLEAR % {"suite": self.suite}, timeout=60)
