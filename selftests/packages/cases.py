# SPDX-License-Identifier: GPL-2.0
"""The steps of a user with the packages, in order: each starts where the one before ended."""

import re

# Packages installed before tern's. After tern's purge exactly their files must be left. They are DKMS's
# dependencies, its signing tool, and what a kernel package needs.
BEFORE = ["dkms", "initramfs-tools", "openssl", "perftest", "rdma-core"]
_OURS = ("tern-dkms", "tern-provider", "tern-tools", "tern-tests")

_INSTALL_S = 900
# DKMS compiles the module, in an emulated machine.
_COMPILE_S = 1800

# With this option other sources compile, and tern's do not, as for a kernel that is too new.
_UNKNOWN_KERNEL = 'MAKE[0]="make KDIR=${kernel_source_dir} KCFLAGS=-Dto_tern_dev=0"\n'
_PREBUILT = 'MAKE[0]="cp %s/${PACKAGE_VERSION}/${kernelver}/tern.ko ."\n'

# rdma-core's rule, which tern's replaces: if that changes, tern's has to change too.
_RULE = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
_THEIR_RULE = r'\AACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_FALLBACK"\n\Z'


def _apt_command(words):
    return "DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0 --no-install-recommends " \
        + words


def _install_words(version):
    return "install " + " ".join("%s=%s" % (name, version) for name in _OURS)


def _link_exists(name, netdev):
    return "rdma link show %s/1 | grep -q 'netdev %s'" % (name, netdev)


def _check_own_rule(m):
    """An administrator's own rule for device names is kept, without a question."""
    m.guest.write(_RULE, "# admin's\n")
    m.check("tern-tools beside an administrator's rule for names",
            _apt_command("install tern-tools=" + m.old) + " </dev/null", _INSTALL_S)
    m.check("purged again", _apt_command("purge tern-tools"), _INSTALL_S)
    m.check("that rule is unchanged", "cat %s && rm %s" % (_RULE, _RULE), says=r"\A# admin's\n\Z")


def _check_unknown_kernel(m):
    """tern does not compile for the kernel: installing succeeds, and all logs have a message."""
    m.guest.write("/etc/dkms/tern.conf", _UNKNOWN_KERNEL)
    m.check("installed for a kernel for which it does not compile",
            _apt_command(_install_words(m.old)), _COMPILE_S,
            says="WARNING: tern .* does not compile for Linux " + re.escape(m.release))
    m.check("modprobe refuses", "modprobe tern", rc=None, says="Operation not supported")
    m.check("the kernel log says why", "dmesg", says="tern: this version of tern does not compile")
    m.run("systemctl start tern-roce@eth0")
    m.check("the unit says why", "systemctl status tern-roce@eth0", rc=3,
            says="tern: this version of tern does not compile")
    m.run("rm /etc/dkms/tern.conf; systemctl reset-failed")
    if m.prebuilt:
        m.guest.write("/etc/dkms/tern.conf", _PREBUILT % m.prebuilt)


def _check_build(m):
    m.check("DKMS builds it", "dkms remove tern/%s -k %s && dkms install tern/%s -k %s"
            % (m.old, m.release, m.old, m.release), _COMPILE_S)
    m.check("it is tern", "modinfo -F absent tern; modinfo -F version tern",
            says=r"\A%s\Z" % re.escape(m.old + "\n"))


def _check_names(m):
    """udev renames all RDMA devices except tern's, which keep their names."""
    m.check("rdma-core's rule for names has not changed",
            "grep -hv '^#' /usr/lib/udev/rules.d/60-rdma-persistent-naming.rules | grep .",
            says=_THEIR_RULE)
    # rdma_rename has no name for devices of virtio interfaces, so a stand-in replaces it.
    m.guest.write("/run/rename", '#!/bin/sh\nexec rdma dev set "$1" name "renamed_$1"\n', 0o755)
    m.check("a stand-in for rdma_rename", "mount --bind /run/rename /usr/lib/udev/rdma_rename")
    m.check("a link of another driver is renamed", "modprobe rdma_rxe && "
            "rdma link add other0 type rxe netdev eth0 && udevadm settle && "
            "rdma link show renamed_other0/1 && modprobe -r rdma_rxe")
    add = "rdma link add tern0 type tern_roce netdev eth0 && udevadm settle && rdma link"
    m.check("a link of tern is not renamed", add, says="link tern0/1")
    m.check("without tern's rule it is renamed", "rdma link delete tern0; mv %s /run/rule; "
            "udevadm control --reload; %s" % (_RULE, add), says="link renamed_tern0/1")
    m.check("the rule and rdma_rename are restored", "rdma link delete renamed_tern0; mv /run/rule %s; "
            "udevadm control --reload; umount /usr/lib/udev/rdma_rename" % _RULE)


def _check_by_hand(m):
    """A link by modprobe and rdma link add, without units."""
    m.check("modprobe", "modprobe tern")
    m.check("rdma link add", "rdma link add tern0 type tern_roce netdev eth0 && udevadm settle")
    m.check("the link exists", _link_exists("tern0", "eth0"))
    m.until("rdma_ucm is loaded automatically", "test -d /sys/module/rdma_ucm")
    m.until("it has its address", "ibv_devinfo -d tern0 -v | grep -q ::ffff:10.77.0.1")
    # The serving end waits on if the other one has failed before it connected.
    m.check("tern-selftest, both ends", "timeout 1200 tern-selftest -d tern0 >/run/serving 2>&1 & "
            "serving=$!; tern-selftest -d tern0 10.77.0.1 || "
            "{ kill $serving; cat /run/serving; exit 1; }; wait $serving", 1500, says="all passed")
    m.check("rdma link delete", "rdma link delete tern0")


def _check_units(m):
    m.guest.write("/etc/systemd/system/tern-roce@eth0.service.d/name.conf",
                  "[Service]\nEnvironment=NAME=tern0\n")
    m.check("links of units", "systemctl daemon-reload && "
            "systemctl enable --now tern-iwarp@eth0 tern-roce@eth0 && udevadm settle")
    m.check("RoCE's name is the drop-in's", _link_exists("tern0", "eth0"))
    m.check("iWARP's name is made of the interface's", _link_exists("iwarp_eth0", "eth0"))
    one_is_left = "test $(rdma link | wc -l) = 1"
    for unit, name in (("tern-roce@eth0", "tern0"), ("tern-iwarp@eth0", "iwarp_eth0")):
        m.check(unit + " ends a link that was renamed", "rdma dev set %s name other0 && "
                "systemctl stop %s && %s" % (name, unit, one_is_left))
        m.check(unit + " adds it again", "systemctl start %s && udevadm settle && %s"
                % (unit, _link_exists(name, "eth0")))
    m.check("an existing link is used", "systemctl stop tern-iwarp@eth0; "
            "rdma link add other0 type tern_iwarp netdev eth0; systemctl start tern-iwarp@eth0; "
            "systemctl status tern-iwarp@eth0", says="is there already, as other0")
    m.check("stopped", "systemctl stop tern-iwarp@eth0 && " + one_is_left)
    drop_in = "/run/systemd/system/tern-iwarp@eth0.service.d"
    m.guest.write(drop_in + "/name.conf", "[Service]\nEnvironment=NAME=tern0\n")
    m.check("a name in use by another link is refused", "systemctl daemon-reload; "
            "systemctl start tern-iwarp@eth0; systemctl status tern-iwarp@eth0", rc=3,
            says="there is a device tern0 already")
    m.run("rm -r %s; systemctl daemon-reload; systemctl reset-failed; "
          "systemctl start tern-iwarp@eth0" % drop_in)


def _check_hotplug(m):
    """An interface, with a dash in its name, that is added later, removed, and added again."""
    unit = "tern-roce@$(systemd-escape late-0)"
    m.check("a unit is enabled before its interface exists", "systemctl enable " + unit)
    for again in ("", " again"):
        m.check("the interface appears" + again, "ip link add late-0 type dummy")
        m.until("its link appears" + again, _link_exists("roce_late-0", "late-0"))
        m.check("the interface is removed" + again, "ip link del late-0")
        m.until("the unit has ended" + again, "! systemctl is-active " + unit)
    m.check("the interface appears once more", "ip link add late-0 type dummy")
    m.until("its link appears once more", _link_exists("roce_late-0", "late-0"))
    m.check("the interface is replaced at once", "ip link del late-0; ip link add late-0 type dummy")
    m.until("its link is replaced", "rdma -d link show roce_late-0/1 | "
            "grep -qw netdev_index.$(cat /sys/class/net/late-0/ifindex)")
    m.check("disabled", "ip link del late-0; systemctl disable " + unit)


def _check_signatures(m):
    """The kernel requires signed modules, and does not have DKMS's key, until the reboot."""
    m.check("the links end, the module is removed",
            "systemctl stop tern-roce@eth0 tern-iwarp@eth0 && modprobe -r tern")
    m.check("the kernel requires signatures", "echo Y >/sys/module/module/parameters/sig_enforce; "
            "modprobe tern", rc=None, says="Key was rejected by service")
    m.check("the kernel log says why", "dmesg", says="module with unavailable key is rejected")
    m.check("the unit says why a module without the key fails",
            "systemctl start tern-roce@eth0; systemctl status tern-roce@eth0", rc=3,
            says="(?s)Key was rejected by service.*module tern cannot be loaded")


def _check_reboot(m):
    m.guest.reboot()
    for unit in ("tern-roce@eth0", "tern-iwarp@eth0"):
        m.until(unit + " is active", "systemctl is-active " + unit)
    m.check("the RoCE link has its name", _link_exists("tern0", "eth0"))
    m.check("the iWARP link has its name", _link_exists("iwarp_eth0", "eth0"))
    m.check("RoCE came first", "rdma dev | sed 's/: node_type.*//'", says=r"(?s)tern0.*iwarp_eth0")
    m.check("nothing failed at boot", "systemctl --failed --no-legend", says=r"\A\Z")


def _check_other_kernel(m):
    m.check("another kernel is installed",
            _apt_command("install linux-image-%s linux-headers-%s" % (m.other, m.other)), 2 * _COMPILE_S)
    m.check("all packages are configured", "dpkg --audit", says=r"\A\Z")
    m.check("it has tern's module", "modinfo -k %s -F version tern; modinfo -k %s -F absent tern"
            % (m.other, m.other), says=r"\A%s\Z" % re.escape(m.old + "\n"))


def _check_upgrade(m):
    """An upgrade under load: programs that use a link notice nothing."""
    m.until("it has its address", "ibv_devinfo -d tern0 -v | grep -q ::ffff:10.77.0.1")
    loaded = m.run("cat /sys/module/tern/srcversion").out
    # It polls, and nice leaves the CPU to the compiler, which needs an hour in an emulated machine.
    load = "exec nice -n 19 ib_write_bw -d tern0 -F --run_infinitely -D 5"
    server = m.guest.start(load, None)
    m.guest.wait_listening(18515)
    client = m.guest.start(load + " 10.77.0.1", None)
    client.wait_for("65536", 60)
    m.check("upgraded", _apt_command(_install_words(m.new)), _COMPILE_S,
            says="the tern that is loaded is another one")
    before = len(client.output())
    m.run("sleep 12")
    m.case("the load went on", client.running and server.running and len(client.output()) > before,
           client.output()[-800:])
    client.kill(9)
    server.kill(9)
    m.case("the old module is still loaded",
           m.run("cat /sys/module/tern/srcversion").out == loaded)
    m.check("the links are up", _link_exists("tern0", "eth0") + " && " + _link_exists("iwarp_eth0", "eth0"))
    m.check("new programs run", "ibv_devinfo -d tern0", says="PORT_ACTIVE")
    m.check("the new module after a restart of the units", "modprobe -r tern && "
            "systemctl restart tern-roce@eth0 tern-iwarp@eth0 && cat /sys/module/tern/version",
            says=re.escape(m.new))


def _check_purge(m, before):
    m.check("purged", _apt_command("purge " + " ".join(_OURS)), _INSTALL_S)
    m.check("the units' links have ended", "rdma link", says=r"\A\Z")
    m.check("the module can be removed", "modprobe -r tern || rmmod tern")
    m.run("rm -rf /etc/systemd/system/tern-roce@eth0.service.d /etc/dkms/tern.conf")
    # DKMS made its own key. The other kernel and its files are still there.
    made = re.compile(r"/var/lib/dkms/mok\.|^/(vmlinuz|initrd\.img)(\.old)?$|%s"
                      % re.escape(re.match(r"\d+\.\d+", m.other).group()))
    left = [path for path in sorted(m.files() - before - m.packaged())
            if not made.search(path) or re.search(r"/tern\b", path)]
    m.case("no file is left", not left, "\n".join(left))
    gone = sorted(before - m.files())
    m.case("no other file is gone", not gone, "\n".join(gone[:20]))


def run(m):
    """Run all steps."""
    mark = m.guest.dmesg_mark()
    m.check("DKMS's dependencies", _apt_command("install %s linux-headers-%s" % (" ".join(BEFORE), m.release)),
            _INSTALL_S)
    before = m.files()
    _check_own_rule(m)
    _check_unknown_kernel(m)
    _check_build(m)
    _check_names(m)
    _check_by_hand(m)
    _check_units(m)
    _check_hotplug(m)
    _check_signatures(m)
    log = m.guest.dmesg_since(mark)
    _check_reboot(m)
    _check_other_kernel(m)
    _check_upgrade(m)
    _check_purge(m, before)
    log += m.guest.dmesg()
    bad = re.findall(r".*(?:WARNING:|BUG:|Oops).*", log)
    m.case("the kernel log is clean", not bad, "\n".join(bad))
