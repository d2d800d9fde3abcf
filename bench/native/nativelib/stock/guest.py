# SPDX-License-Identifier: GPL-2.0
"""The guest: one User Mode Linux with two network namespaces, and one driver at a time.

    namespace left                    namespace right
    veth0 10.88.0.1 ----------------- veth1 10.88.0.2       interfaces as veth makes them
    device l                          device r

With a network between them, a third namespace, net, has a bridge. Its ports have netem: packets are
disturbed one by one, as each interface takes large ones apart before they leave.
"""

import json
import os
import shlex

from riglib import Rig, apt, product, umlkernel

from .. import HERE
from .cases import BY_NAME, SUBJECTS, command
from .loss import NETWORK

NAME = "bench-native"
_KERNEL = "native"
_ADDRESS = {"left": "10.88.0.1", "right": "10.88.0.2"}
_DEVICE = {"left": "l", "right": "r"}
_PORTS = range(10000, 30000)

# modprobe gets the path of tern.ko: a depmod of all modules would take longer. Interfaces are
# moved, not created in their namespaces, so that their numbers differ: siw listens for all devices
# in the one namespace of its program, and tells sockets apart by these numbers.
_PREPARE = r"""set -e
modprobe -a ib_core ib_uverbs rdma_ucm rdma_cm veth
mkdir -p /etc/libibverbs.d /etc/modprobe.d
needs=$(modinfo -F depends /tern/tern.ko | tr , ' ')
echo "install tern modprobe -a $needs && insmod /tern/tern.ko" >/etc/modprobe.d/tern.conf
lib=$(dirname "$(ls /usr/lib/*/libibverbs.so.1)")/libibverbs
cp /tern/libtern-rdmav*.so "$lib"
echo driver tern >/etc/libibverbs.d/tern.driver
for ns in left right; do
    ip netns add $ns
    ip -n $ns link set lo up
done
WIRE
ip link set veth0 netns left
ip link set veth1 netns right
ip -n left addr add 10.88.0.1/24 dev veth0
ip -n right addr add 10.88.0.2/24 dev veth1
ip -n left link set veth0 up
ip -n right link set veth1 up
"""
_WIRE = "ip link add veth0 mtu MTU type veth peer name veth1 mtu MTU"
_NETWORK = r"""modprobe -a bridge sch_netem
ip netns add net
ip -n net link add net type bridge
ip -n net link set net up
for i in 0 1; do
    ip link add veth$i mtu MTU type veth peer name port$i mtu MTU
    ethtool -K veth$i tso off gso off tx-udp-segmentation off tx-gso-list off
    ip link set port$i netns net
    ip -n net link set port$i master net up
done
"""
# No queue is full before memory is.
_DISTURB = "for i in 0 1; do tc -n net qdisc replace dev port$i root netem limit 100000 %s; done"

_UP = r"""set -e
modprobe MODULE
[ TYPE != tern_iwarp ] || echo CRC >/sys/module/tern/parameters/iwarp_crc
ip netns exec left rdma link add l type TYPE netdev veth0
ip netns exec right rdma link add r type TYPE netdev veth1
"""
# RoCE has GIDs of addresses some time after the link.
_IS_UP = r"""
[ $(cat /sys/class/infiniband/[lr]/ports/1/state | grep -c ACTIVE) = 2 ] || exit 1
case TYPE in tern_roce | rxe)
    grep -qs :0a58:0001 /sys/class/infiniband/l/ports/1/gids/* &&
    grep -qs :0a58:0002 /sys/class/infiniband/r/ports/1/gids/* ;;
esac
"""
_DOWN = "rdma link delete l; rdma link delete r; true"
_IS_DOWN = "[ ! -e /sys/module/MODULE ] || modprobe -r MODULE"


def _files(release):
    """tern.ko for the guest's kernel, the provider, and the programs for it."""
    suite = apt.host_suite()
    module = product.module(suite, release, _KERNEL)
    return [product.without_debug(module), os.path.join(HERE, "pairs")] + product.providers(suite)


class Guest:
    """Runs inside a with block."""

    def __init__(self, cpus, mtu, network=False):
        """network: is there one between the namespaces?"""
        self._rig = Rig(name=NAME, kernel=_KERNEL, guests=1, smp=cpus)
        self._wire = _NETWORK if network else _WIRE
        self._path = None
        self._mtu, self._port = mtu, _PORTS.start

    @property
    def cpus(self):
        """The number of its CPUs."""
        return self._rig.options["smp"]

    def __enter__(self):
        # Build first: it takes long.
        files = _files(umlkernel.ensure(_KERNEL)[0])
        self._rig.up()
        try:
            guest = self._rig["a"]
            guest.push(files, "/tern/")
            guest.run(_PREPARE.replace("WIRE", self._wire).replace("MTU", str(self._mtu)),
                      check=True)
        except BaseException:
            self._rig.down(keep_logs=True)
            raise
        return self

    def __exit__(self, *_):
        self._rig.down()

    def release(self):
        """The release of its kernel."""
        return self._rig["a"].run("uname -r", check=True).out.strip()

    def _script(self, text, subject):
        return (text.replace("MODULE", subject.module).replace("TYPE", subject.link)
                .replace("CRC", subject.crc))

    def up(self, subject):
        """Load a subject's driver and make a link at either end."""
        if subject.link:
            self._rig["a"].run(self._script(_UP, subject), check=True)
            self._rig["a"].wait_until(self._script(_IS_UP, subject), timeout=10)

    def down(self, subject):
        """The reverse. RigError if the driver is still in use."""
        if subject.link:
            self._rig["a"].run(_DOWN)
            self._rig["a"].wait_until(self._script(_IS_DOWN, subject), timeout=10, every=0.5)

    def _take(self, path):
        """Make the network the path's, if it is not."""
        if path in NETWORK and path != self._path:
            self._rig["a"].run(_DISTURB % NETWORK[path].netem, check=True)
            self._path = path

    def run(self, point, counts, limit_s):
        """Run a point's programs with each number of operations. Returns what `pairs` prints."""
        subject, case = SUBJECTS[point.subject], BY_NAME[point.case]
        far = "left" if point.path == "host" else "right"
        self._take(point.path)
        ends = sorted({"left", far})
        if self._port + point.pairs * len(counts) > _PORTS.stop:
            self._port = _PORTS.start
        spec = {
            "server": command(case, subject, _DEVICE[far]),
            "client": command(case, subject, "l", _ADDRESS[far]),
            "namespaces": [far, "left"], "pairs": point.pairs, "port": self._port,
            "counts": counts, "size": case.size,
            "devices": [_DEVICE[end] for end in ends] if subject.link else [],
            "limit_s": limit_s * self._rig["a"].slow,
        }
        self._port += point.pairs * len(counts)
        # `pairs` has its own limits for the start and end of a program.
        done = self._rig["a"].run("/tern/pairs " + shlex.quote(json.dumps(spec)),
                                  timeout=len(counts) * (limit_s + 30), check=True)
        return json.loads(done.out)
