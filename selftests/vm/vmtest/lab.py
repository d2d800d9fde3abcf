# SPDX-License-Identifier: GPL-2.0
"""The laboratory: two guests, each with a driver that has a link on eth0.

A pair names the driver of guest a, then that of guest b: "tern-rxe". The names are those of LINK.
"tern" is the driver under test, which --device may change. Servers run in b, clients in a.
"""

import json
import os
import re
import time

from riglib import GuestLost, Rig, RigError, apt, debug, umlkernel

from . import where

LINK = {"tern": ("tern0", "tern_roce"), "rxe": ("rxe0", "rxe"),
        "iwarp": ("ternw0", "tern_iwarp"), "siw": ("siw0", "siw")}
MODULE = {"tern": "tern", "rxe": "rdma_rxe", "iwarp": "tern", "siw": "siw"}
PEERS = ("rxe", "siw")  # the kernel's own drivers
# Tests run in this order of pairs, so that drivers change seldom.
PAIRS = ("tern-tern", "tern-rxe", "rxe-tern", "iwarp-iwarp", "iwarp-siw", "siw-iwarp")
KERNEL_MODULES = "ib_core ib_uverbs rdma_ucm ib_umad rdma_cm"

# A process that ends may wait for its calls by iw_cm for a minute.
_HUNG_S = 90
_SETTINGS = ("sysctl -qw kernel.panic_on_oops=0 kernel.hung_task_timeout_secs=%d; "
             "modprobe -a " + KERNEL_MODULES)

# A depmod over all modules takes minutes under emulation. So modprobe's configuration gets the
# module's path, and its aliases as the module has them.
_INSTALL = r"""set -e
mkdir -p /etc/libibverbs.d /etc/modprobe.d
{
    for alias in $(modinfo -F alias /tern/tern.ko); do echo "alias $alias tern"; done
    echo "install tern modprobe -a $(modinfo -F depends /tern/tern.ko | tr , ' ') && insmod /tern/tern.ko"
} >/etc/modprobe.d/tern.conf
lib=$(dirname "$(ls /usr/lib/*/libibverbs.so.1)")/libibverbs
mkdir -p $lib; cp /tern/libtern-rdmav*.so $lib/
echo driver tern >/etc/libibverbs.d/tern.driver
"""


_INSTALL_SIW = r"""
echo "install siw modprobe -a $(modinfo -F depends /tern/siw.ko | tr , ' ') && insmod /tern/siw.ko" \
    >/etc/modprobe.d/siw.conf
"""

# The counters twice, with pings between that should change them.
_NETWORK = ("ip -d addr show eth0; ip route; ip neigh; for i in 1 2; do ip -s -s link show eth0; "
            "tc -s qdisc show dev eth0; cat /proc/interrupts /proc/softirqs /proc/net/softnet_stat; "
            "ping -q -c 2 -W 1 10.77.0.1; ping -q -c 2 -W 1 10.77.0.2; done; "
            "head -n 5 /proc/meminfo; ps -eo pid,stat,wchan:24,time,comm; dmesg | tail -n 30")


class Lab:
    """Boots and keeps the guests, and sets up what a test needs."""

    def __init__(self, rig_name, device, smp=None, mem=None, kernel=None, keep=False, **net):
        """net: more of the rig's options, such as net, mtu and containers."""
        self.device = device
        self._options = {"smp": smp, "mem": mem, "kernel": kernel, "pmem": (32, 32), **net}
        self._name, self._keep = rig_name, keep
        self._rig = None
        self._ours = False
        self._baseline = {}
        # The time of tests that can run for any time, if not the usual one.
        self.soak_s = None
        # Of tests that choose at random.
        self.seed = 1
        # Is there time for what takes long?
        self.long = False
        # The guests' release and kernel, known once they are up.
        self.suite = self.release = None

    # -- guests

    def up(self):
        """Attach to a rig of that name, or boot one; put our files into the guests."""
        try:
            self._rig = Rig.attach(self._name)
            if all(guest.alive() for guest in self._rig):
                for name in ("kernel", "suite"):
                    asked, there = self._options.get(name), self._rig.options[name]
                    if asked not in (None, there):
                        raise RigError("rig %s is up with another %s, %s: 'qemu/rig down "
                                       "--name %s' ends it" % (self._name, name, there, self._name))
                    self._options[name] = there
            else:
                # A killed run has left it.
                self._rig.down()
                self._rig = None
        except GuestLost:
            self._rig = None
        version = self._options["kernel"]
        self.suite = self._options.get("suite") or apt.host_suite()
        # Ask a rig that is up: the host may have newer headers by now.
        self.release = (self._rig.options.get("release") if self._rig else None) or \
            self._new_rig().images()["release"]
        files = where.build_tools(self.suite)
        if self.device == "tern":
            files += where.driver_files(self.suite, self.release, version)
        if not self._rig:
            self._boot()
        for guest in self.guests():
            guest.push(files, "/tern/")
            guest.run(_SETTINGS % (_HUNG_S * guest.slow), timeout=60, check=True)
            if self.device == "tern":
                guest.run(_INSTALL, timeout=120, check=True)
            # From 6.5 on virtio_net tells its device of a group's address some time after the call
            # that joins has returned: datagrams that come before are not seen.
            if not self.native and self.version >= (6, 5):
                guest.run("ip link set eth0 allmulticast on", check=True)
        self._baseline = {}

    def _new_rig(self):
        return Rig(self._name, guests=2, **self._options)

    def _boot(self):
        self._rig = self._new_rig()
        if self._keep:
            self._rig.stay()
        self._rig.up()
        self._ours = True

    def down(self):
        """End the guests, unless they ran before or --keep is set."""
        if self._rig and self._ours and not self._keep:
            self._rig.down()

    def reboot(self):
        """Start new guests after a crash."""
        try:
            self._rig.down()
        except RigError:
            pass
        self._boot()
        self.up()

    def guests(self):
        """Both, a first."""
        return [self._rig["a"], self._rig["b"]]

    def guest(self, name):
        """One."""
        return self._rig[name]

    @property
    def native(self):
        """Are the guests User Mode Linux, and not QEMU?"""
        return self._rig["a"].native

    @property
    def version(self):
        """The guests' kernel: (6, 1)."""
        return tuple(map(int, re.match(r"(\d+)\.(\d+)", self.release).groups()))

    @property
    def has_kmemleak(self):
        """Is it in the guests' kernel?"""
        return self._options["kernel"] in (debug.NAME, umlkernel.DEBUG)

    @property
    def is_ours(self):
        """Were the guests started here? If not, the rig was up already."""
        return self._ours

    @property
    def containers(self):
        """The other suites whose roots the guests have."""
        return self._rig.options.get("containers", [])

    # -- drivers

    def driver_of(self, pair, guest_name):
        """The driver that a guest has in this pair: a key of LINK."""
        driver = pair.split("-")["ab".index(guest_name)]
        return self.device if driver == "tern" else driver

    def set_up(self, pair):
        """Load the pair's drivers, each with an active link on eth0 that has its GIDs."""
        for guest in self.guests():
            want = self.driver_of(pair, guest.name)
            for other in MODULE:
                if MODULE[other] != MODULE[want]:
                    self.unload(guest, other)
                elif other != want:
                    guest.run("rdma link delete %s 2>/dev/null; true" % LINK[other][0])
            if want == "siw" and not guest.native:
                guest.push([where.siw_file(self.suite, self.release, self._options["kernel"])],
                           "/tern/")
                guest.run(_INSTALL_SIW, timeout=30, check=True)
            self.add_link(guest, want)
        for guest in self.guests():
            self._remember(guest)

    def push_module(self, guest, name):
        """Put one of the tests' own modules into a guest: /tern/NAME.ko."""
        folder = where.module_folder(self.suite, self.release, self._options["kernel"])
        guest.push([os.path.join(folder, name + ".ko")], "/tern/")

    def add_link(self, guest, driver=None, netdev="eth0", name=None, wait=True):
        """Load the driver and add its link, if missing. Returns the device's name."""
        driver = driver or self.device
        link, kind = LINK[driver]
        if not self.device_on(guest, netdev):
            guest.run("modprobe -a %s %s && rdma link add %s type %s netdev %s" % (
                KERNEL_MODULES, MODULE[driver], name or link, kind, netdev),
                timeout=60, check=True)
        if wait and driver in ("iwarp", "siw"):
            # Its one GID is made of the MAC; rdma_cm uses IP addresses.
            guest.wait_until("rdma link | grep -q 'state ACTIVE .*netdev %s *$'" % netdev,
                             timeout=15)
        elif wait:
            self.wait_gids(guest, netdev)
        return self.device_on(guest, netdev)

    @staticmethod
    def wait_gids(guest, netdev="eth0"):
        """Wait until each address of the netdev has its GID of RoCEv2, which comes last."""
        guest.wait_until(r"""
            dev=$(rdma link | sed -n 's|^link \([^/]*\)/1 .*netdev %s *$|\1|p'); [ -n "$dev" ]
            n=$(ip -o addr show dev %s | grep -c inet)
            g=$(grep -l v2 /sys/class/infiniband/$dev/ports/1/gid_attrs/types/* 2>/dev/null | wc -l)
            rdma link show $dev/1 | grep -q 'state ACTIVE' && [ $g -ge $n ]""" % (netdev, netdev),
            timeout=15)

    @staticmethod
    def unload(guest, driver):
        """Remove a driver's links and the driver."""
        # Delete a peer's link first: in the debug kernel of 7.3 rxe's link holds its module. Not
        # modprobe -r, which also removes a softdep's modules. Programs with a peer's device may still
        # be ending.
        tries = 1
        if driver in PEERS:
            tries = 20
            guest.run("rdma link delete %s; true" % LINK[driver][0])
        guest.run("for i in $(seq {1}); do grep -q '^{0} ' /proc/modules || exit 0; rmmod {0} && exit; "
                  "sleep 0.5; done; exit 1".format(MODULE[driver], tries), timeout=60, check=True)

    @staticmethod
    def links(guest):
        """All RDMA links: [{ifname, netdev, state...}]."""
        result = guest.run("rdma -j link", timeout=20)
        text = result.out.strip()
        return json.loads(text) if text.startswith("[") else []

    def device_on(self, guest, netdev="eth0"):
        """The RDMA device of a netdev, or None."""
        for link in self.links(guest):
            if link.get("netdev") == netdev:
                return link["ifname"]
        return None

    # -- the Ethernet under them

    def reachable(self):
        """Does guest a get answers from b?"""
        a, b = self.guests()
        return a.run("ping -q -c 3 -i 0.2 -W 2 -w 8 %s" % b.address, timeout=30).rc == 0

    def network(self):
        """For people: the state of the network in both guests."""
        text = ""
        for guest in self.guests():
            text += "guest %s:\n%s" % (guest.name, guest.run(_NETWORK, timeout=60).out)
        return text

    # -- objects

    @staticmethod
    def objects(guest):
        """{device: {pd: n, cq: n, ...}} of all devices."""
        table = {}
        for line in guest.run("rdma resource show", timeout=20).out.splitlines():
            found = re.match(r"\d+: ([^:]+): (.*)", line)
            if found:
                words = found.group(2).split()
                table[found.group(1)] = dict(zip(words[::2], map(int, words[1::2])))
        return table

    @staticmethod
    def lost_memory(guest):
        """kmemleak's reports as a list; None without kmemleak, or if it is off."""
        done = guest.run("cd /sys/kernel/debug && [ -e kmemleak ] || exit 9; sleep 6; "
                         "echo scan >kmemleak || exit 9; sleep 1; echo scan >kmemleak; "
                         "cat kmemleak; echo clear >kmemleak", timeout=120)
        if done.rc:
            return None
        reports = re.split(r"(?m)^(?=unreferenced object)", done.out)
        return [text for text in reports if text.startswith("unreferenced")]

    def _remember(self, guest):
        self._baseline[guest.name] = self.objects(guest)

    def leaks(self, guest, limit_s=10):
        """Objects that a new link does not have, as text. Waits for objects that end late."""
        deadline = time.monotonic() + limit_s * guest.slow
        while True:
            left = []
            base = self._baseline.get(guest.name, {})
            for device, counts in self.objects(guest).items():
                for what, n in counts.items():
                    if n > base.get(device, {}).get(what, 0):
                        left.append("%s: %s %d, was %d" % (
                            device, what, n, base.get(device, {}).get(what, 0)))
            if not left or time.monotonic() > deadline:
                return ", ".join(left)
            time.sleep(0.3)
