# SPDX-License-Identifier: GPL-2.0
"""ibv_devices, ibv_devinfo, the GID table and the rdma tool show the device correctly."""

import ipaddress
import re

PAIRS = ("tern-tern",)
LIMIT = 90


def _check_limits(t, text):
    """The device's limits in the output of ibv_devinfo -v are in sensible ranges."""
    found = dict(re.findall(r"^\s*(\w+):\s+(\S+)", text, re.M))

    def at_least(name, low, high=1 << 62):
        value = int(found.get(name, "-1"), 0)
        t.case("limit %s" % name, low <= value <= high, "%s is %s" % (name, found.get(name)))

    at_least("max_qp", 1024, 1 << 24)
    at_least("max_qp_wr", 1024, 1 << 20)
    at_least("max_sge", 30, 255)
    at_least("max_cq", 1024, 1 << 24)
    at_least("max_cqe", 1024, 1 << 24)
    at_least("max_mr", 1024, 1 << 24)
    at_least("max_pd", 1024, 1 << 24)
    at_least("max_srq", 256, 1 << 24)
    at_least("max_ah", 256, 1 << 24)
    at_least("max_qp_rd_atom", 1, 128)
    at_least("max_mr_size", 1 << 31, 1 << 65)
    t.case("XRC is shown, if the device has it", ("XRC" in text.split()) == t.is_tern, text)
    t.case("port is active", "PORT_ACTIVE" in text and "link_layer:\t\tEthernet" in text, text)
    t.case("vendor and firmware are named" if t.is_tern else "firmware line",
           re.search(r"fw_ver:\s+\S+", text), text)


def _check_gids(t, guest, device):
    """The GID table has exactly the netdev's addresses."""
    out = t.run(guest, """cd /sys/class/infiniband/%s/ports/1
        grep -v '^[0:]*$' gids/* /dev/null | sed 's|gids/||; s/:/ /' | sort -n |
        while read -r i gid; do
            echo "$i $gid $(cat gid_attrs/ndevs/$i) $(cat gid_attrs/types/$i)"
        done""" % device).out
    entries = [line.split(None, 3) for line in out.splitlines()]
    ips = t.run(guest, "ip -o addr show dev eth0").out
    want = set()
    for address in re.findall(r"inet6? ([0-9a-f.:]+)/", ips):
        want.add(ipaddress.IPv6Address(address if ":" in address else "::ffff:" + address))
    have = {ipaddress.IPv6Address(entry[1]) for entry in entries}
    t.case("every address has a GID", want <= have, "%s\n%s" % (sorted(want - have), out))
    if t.is_tern:
        t.case("no GID without an address", have <= want, "%s\n%s" % (sorted(have - want), out))
    t.case("GIDs name their netdev", all(entry[2] == "eth0" for entry in entries), out)


_COUNTERS = ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets",
             "port_rcv_errors", "port_xmit_discards", "link_downed")


def _check_identity(t, guest, device, info):
    """The sysfs files that node exporters and ibstat read."""
    t.case("vendor and part", re.search(r"vendor_id:\s+0x0*27472\n", info) and
           re.search(r"vendor_part_id:\s+1\n", info), info)
    names = t.run(guest, "cd /sys/class/infiniband/%s && cat hca_type board_id hw_rev" % device)
    t.case("type, board and revision", names.out.split() == ["tern_roce", "tern", "0"],
           names.out + names.err)
    out = t.run(guest, "cd /sys/class/infiniband/%s/ports/1/counters && for f in *; do "
                       "echo $f $(cat $f); done" % device).out
    counters = dict(line.split(None, 1) for line in out.splitlines())
    t.case("the port has its counters", all(counters.get(name, "").isdigit()
                                            for name in _COUNTERS), out)
    t.case("the port's counters count", int(counters.get("port_xmit_packets", 0)) > 0 and
           int(counters.get("port_xmit_data", 0)) > 0, out)


def run(t):
    for guest in t.guests:
        device = t.dev(guest)
        t.case("%s: a device on eth0" % guest.name, device)
        listing = t.check_run("%s: ibv_devices" % guest.name, guest, "ibv_devices")
        t.case("%s: ibv_devices lists it" % guest.name, device in listing.out, listing.out)
    device = t.dev(t.a)
    info = t.check_run("ibv_devinfo -v", t.a, "ibv_devinfo -v -d " + device)
    _check_limits(t, info.out)
    _check_gids(t, t.a, device)
    if t.is_tern:
        t.check_run("the device's parent is the netdev's", t.a,
                    "test -d /sys/class/infiniband/%s/device/net/eth0" % device)
        for index in (0, 1):
            command = "ibv_rc_pingpong -n 20 -g %d -d " % index
            t.pair_case("GID %d of the table works" % index, command + t.dev(t.b),
                        "%s%s %s" % (command, device, t.b.address), port=18515)
        _check_identity(t, t.a, device, info.out)
    for what, pattern in (("rdma link", "netdev eth0"), ("rdma dev", device),
                          ("rdma resource show", device + ": "),
                          ("rdma resource show qp", device), ("rdma statistic show", device)):
        result = t.check_run(what, t.a, what)
        t.case(what + " names the device", re.search(pattern, result.out), result.out)
    counters = t.run(t.a, "rdma statistic show link %s/1" % device).out.split()
    t.case("there are hardware counters", len(counters) >= 12, " ".join(counters))
