# SPDX-License-Identifier: GPL-2.0
"""What a user does with the packages, in order: each step finds what the one before left."""

import re

# What there is before tern: its purge must leave exactly that. DKMS's dependencies, what it signs
# with, and what a kernel package brings.
BEFORE = ["dkms", "initramfs-tools", "openssl", "perftest", "rdma-core"]
_OURS = ("tern-dkms", "tern-provider", "tern-tools", "tern-tests")

_INSTALL_S = 900
# DKMS compiles the module, in an emulated machine.
_COMPILE_S = 1800

# Source that is not ours compiles with it, ours does not: a kernel that tern does not know.
_UNKNOWN_KERNEL = 'MAKE[0]="make KDIR=${kernel_source_dir} KCFLAGS=-Dto_tern_dev=0"\n'
_PREBUILT = 'MAKE[0]="cp %s/${PACKAGE_VERSION}/${kernelver}/tern.ko ."\n'

# rdma-core's rule, which ours takes the place of: if that changes, so must ours.
_RULE = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
_THEIR_RULE = r'\AACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_FALLBACK"\n\Z'


def _apt(words):
    return "DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0 --no-install-recommends " \
        + words


def _of(version):
    return "install " + " ".join("%s=%s" % (name, version) for name in _OURS)


def _link(name, netdev):
    return "rdma link show %s/1 | grep -q 'netdev %s'" % (name, netdev)


def _own_rule(m):
    """Who says himself how devices are named goes on doing so, and is asked nothing."""
    m.guest.write(_RULE, "# somebody's\n")
    m.check("tern-tools beside somebody's rule for names",
            _apt("install tern-tools=" + m.old) + " </dev/null", _INSTALL_S)
    m.check("purged again", _apt("purge tern-tools"), _INSTALL_S)
    m.check("the rule is as it was", "cat %s && rm %s" % (_RULE, _RULE), says=r"\A# somebody's\n\Z")


def _unknown_kernel(m):
    """Installed where it does not compile: no failure, and a message wherever one looks."""
    m.guest.write("/etc/dkms/tern.conf", _UNKNOWN_KERNEL)
    m.check("installed for a kernel that it does not compile for", _apt(_of(m.old)), _COMPILE_S,
            says="WARNING: tern .* does not compile for Linux " + re.escape(m.release))
    m.check("modprobe refuses", "modprobe tern", rc=None, says="Operation not supported")
    m.check("the kernel log says why", "dmesg", says="tern: this version of tern does not compile")
    m.run("systemctl start tern-roce@eth0")
    m.check("the unit says why", "systemctl status tern-roce@eth0", rc=3,
            says="tern: this version of tern does not compile")
    m.run("rm /etc/dkms/tern.conf; systemctl reset-failed")
    if m.prebuilt:
        m.guest.write("/etc/dkms/tern.conf", _PREBUILT % m.prebuilt)


def _built(m):
    m.check("DKMS builds it", "dkms remove tern/%s -k %s && dkms install tern/%s -k %s"
            % (m.old, m.release, m.old, m.release), _COMPILE_S)
    m.check("it is tern", "modinfo -F absent tern; modinfo -F version tern",
            says=r"\A%s\Z" % re.escape(m.old + "\n"))


def _names(m):
    """Of all devices udev renames, tern's alone keep the name that they were given."""
    m.check("rdma-core's rule for names is as known",
            "grep -hv '^#' /usr/lib/udev/rules.d/60-rdma-persistent-naming.rules | grep .",
            says=_THEIR_RULE)
    # rdma_rename itself knows no name for devices of virtio's interfaces, so another stands in for it.
    m.guest.write("/run/rename", '#!/bin/sh\nexec rdma dev set "$1" name "renamed_$1"\n', 0o755)
    m.check("a stand-in for rdma_rename", "mount --bind /run/rename /usr/lib/udev/rdma_rename")
    m.check("a link of another driver is renamed", "modprobe rdma_rxe && "
            "rdma link add other0 type rxe netdev eth0 && udevadm settle && "
            "rdma link show renamed_other0/1 && modprobe -r rdma_rxe")
    add = "rdma link add tern0 type tern_roce netdev eth0 && udevadm settle && rdma link"
    m.check("tern's is not", add, says="link tern0/1")
    m.check("without our rule it would be", "rdma link delete tern0; mv %s /run/rule; "
            "udevadm control --reload; %s" % (_RULE, add), says="link renamed_tern0/1")
    m.check("the rule and rdma_rename are back", "rdma link delete renamed_tern0; mv /run/rule %s; "
            "udevadm control --reload; umount /usr/lib/udev/rdma_rename" % _RULE)


def _by_hand(m):
    """modprobe and rdma link add, and nothing else."""
    m.check("modprobe", "modprobe tern")
    m.check("rdma link add", "rdma link add tern0 type tern_roce netdev eth0 && udevadm settle")
    m.check("it is there", _link("tern0", "eth0"))
    m.until("rdma_ucm comes by itself", "test -d /sys/module/rdma_ucm")
    m.until("it has its address", "ibv_devinfo -d tern0 -v | grep -q ::ffff:10.77.0.1")
    # The end that serves goes on waiting if the other one did not get that far.
    m.check("tern-selftest, both ends", "timeout 1200 tern-selftest -d tern0 >/run/serving 2>&1 & "
            "serving=$!; tern-selftest -d tern0 10.77.0.1 || "
            "{ kill $serving; cat /run/serving; exit 1; }; wait $serving", 1500, says="all passed")
    m.check("rdma link delete", "rdma link delete tern0")


def _units(m):
    m.guest.write("/etc/systemd/system/tern-roce@eth0.service.d/name.conf",
                  "[Service]\nEnvironment=NAME=tern0\n")
    m.check("links of units", "systemctl daemon-reload && "
            "systemctl enable --now tern-iwarp@eth0 tern-roce@eth0 && udevadm settle")
    m.check("RoCE's name is the drop-in's", _link("tern0", "eth0"))
    m.check("iWARP's has the interface's", _link("iwarp_eth0", "eth0"))
    one_is_left = "test $(rdma link | wc -l) = 1"
    for unit, name in (("tern-roce@eth0", "tern0"), ("tern-iwarp@eth0", "iwarp_eth0")):
        m.check(unit + " ends a link that was renamed", "rdma dev set %s name other0 && "
                "systemctl stop %s && %s" % (name, unit, one_is_left))
        m.check(unit + " makes it again", "systemctl start %s && udevadm settle && %s"
                % (unit, _link(name, "eth0")))
    m.check("a link that is there already is taken", "systemctl stop tern-iwarp@eth0; "
            "rdma link add other0 type tern_iwarp netdev eth0; systemctl start tern-iwarp@eth0; "
            "systemctl status tern-iwarp@eth0", says="is there already, as other0")
    m.check("stopped", "systemctl stop tern-iwarp@eth0 && " + one_is_left)
    drop_in = "/run/systemd/system/tern-iwarp@eth0.service.d"
    m.guest.write(drop_in + "/name.conf", "[Service]\nEnvironment=NAME=tern0\n")
    m.check("a name that another link has", "systemctl daemon-reload; systemctl start tern-iwarp@eth0; "
            "systemctl status tern-iwarp@eth0", rc=3, says="there is a device tern0 already")
    m.run("rm -r %s; systemctl daemon-reload; systemctl reset-failed; "
          "systemctl start tern-iwarp@eth0" % drop_in)


def _hotplug(m):
    """An interface that comes later, goes, and comes again; its name has a dash."""
    unit = "tern-roce@$(systemd-escape late-0)"
    m.check("enabled before its interface is there", "systemctl enable " + unit)
    for again in ("", " again"):
        m.check("the interface appears" + again, "ip link add late-0 type dummy")
        m.until("so does its link" + again, _link("roce_late-0", "late-0"))
        m.check("the interface goes" + again, "ip link del late-0")
        m.until("the unit has ended" + again, "! systemctl is-active " + unit)
    m.check("the interface appears once more", "ip link add late-0 type dummy")
    m.until("so does its link once more", _link("roce_late-0", "late-0"))
    m.check("it is made anew at once", "ip link del late-0; ip link add late-0 type dummy")
    m.until("so is its link", "rdma -d link show roce_late-0/1 | "
            "grep -qw netdev_index.$(cat /sys/class/net/late-0/ifindex)")
    m.check("disabled", "ip link del late-0; systemctl disable " + unit)


def _signatures(m):
    """A kernel that takes signed modules only, and does not know DKMS's key; until the reboot."""
    m.check("the links end, the module goes",
            "systemctl stop tern-roce@eth0 tern-iwarp@eth0 && modprobe -r tern")
    m.check("a kernel that insists on signatures", "echo Y >/sys/module/module/parameters/sig_enforce; "
            "modprobe tern", rc=None, says="Key was rejected by service")
    m.check("the kernel log says why", "dmesg", says="module with unavailable key is rejected")
    m.check("the unit says so", "systemctl start tern-roce@eth0; systemctl status tern-roce@eth0", rc=3,
            says="(?s)Key was rejected by service.*module tern cannot be loaded")


def _reboot(m):
    m.guest.reboot()
    for unit in ("tern-roce@eth0", "tern-iwarp@eth0"):
        m.until(unit + " is active", "systemctl is-active " + unit)
    m.check("RoCE is there under its name", _link("tern0", "eth0"))
    m.check("iWARP is there under its name", _link("iwarp_eth0", "eth0"))
    m.check("RoCE came first", "rdma dev | sed 's/: node_type.*//'", says=r"(?s)tern0.*iwarp_eth0")
    m.check("nothing failed at boot", "systemctl --failed --no-legend", says=r"\A\Z")


def _other_kernel(m):
    m.check("another kernel is installed beside it",
            _apt("install linux-image-%s linux-headers-%s" % (m.other, m.other)), 2 * _COMPILE_S)
    m.check("all packages are configured", "dpkg --audit", says=r"\A\Z")
    m.check("it has tern too", "modinfo -k %s -F version tern; modinfo -k %s -F absent tern"
            % (m.other, m.other), says=r"\A%s\Z" % re.escape(m.old + "\n"))


def _upgrade(m):
    """Under load: who uses a link notices nothing."""
    m.until("it has its address", "ibv_devinfo -d tern0 -v | grep -q ::ffff:10.77.0.1")
    loaded = m.run("cat /sys/module/tern/srcversion").out
    # It spins, and has what the compiler leaves: an emulated machine needs an hour for both alike.
    load = "exec nice -n 19 ib_write_bw -d tern0 -F --run_infinitely -D 5"
    server = m.guest.start(load, None)
    m.guest.wait_listening(18515)
    client = m.guest.start(load + " 10.77.0.1", None)
    client.wait_for("65536", 60)
    m.check("upgraded", _apt(_of(m.new)), _COMPILE_S,
            says="the tern that is loaded is another one")
    before = len(client.output())
    m.run("sleep 12")
    m.case("the load went on", client.running and server.running and len(client.output()) > before,
           client.output()[-800:])
    client.kill(9)
    server.kill(9)
    m.case("the module is the one that was loaded",
           m.run("cat /sys/module/tern/srcversion").out == loaded)
    m.check("the links are up", _link("tern0", "eth0") + " && " + _link("iwarp_eth0", "eth0"))
    m.check("new programs run", "ibv_devinfo -d tern0", says="PORT_ACTIVE")
    m.check("the new module, when it is asked for", "modprobe -r tern && "
            "systemctl restart tern-roce@eth0 tern-iwarp@eth0 && cat /sys/module/tern/version",
            says=re.escape(m.new))


def _purge(m, before):
    m.check("purged", _apt("purge " + " ".join(_OURS)), _INSTALL_S)
    m.check("the units' links have ended", "rdma link", says=r"\A\Z")
    m.check("the module can go", "modprobe -r tern || rmmod tern")
    m.run("rm -rf /etc/systemd/system/tern-roce@eth0.service.d /etc/dkms/tern.conf")
    # DKMS makes the key for itself; the other kernel is still there, and what it brought.
    made = re.compile(r"/var/lib/dkms/mok\.|^/(vmlinuz|initrd\.img)(\.old)?$|%s"
                      % re.escape(re.match(r"\d+\.\d+", m.other).group()))
    left = [path for path in sorted(m.files() - before - m.packaged())
            if not made.search(path) or re.search(r"/tern\b", path)]
    m.case("nothing is left", not left, "\n".join(left))
    gone = sorted(before - m.files())
    m.case("nothing else is gone", not gone, "\n".join(gone[:20]))


def run(m):
    """All of it."""
    mark = m.guest.dmesg_mark()
    m.check("what DKMS takes", _apt("install %s linux-headers-%s" % (" ".join(BEFORE), m.release)),
            _INSTALL_S)
    before = m.files()
    _own_rule(m)
    _unknown_kernel(m)
    _built(m)
    _names(m)
    _by_hand(m)
    _units(m)
    _hotplug(m)
    _signatures(m)
    log = m.guest.dmesg_since(mark)
    _reboot(m)
    _other_kernel(m)
    _upgrade(m)
    _purge(m, before)
    log += m.guest.dmesg()
    bad = re.findall(r".*(?:WARNING:|BUG:|Oops).*", log)
    m.case("the kernel has no complaint", not bad, "\n".join(bad))
