# SPDX-License-Identifier: GPL-2.0
"""Addresses, MTU and MAC change; links that are refused; the link type's alias loads the module."""

from vmtest.lab import LINK, MODULE

LIMIT = 180


def _has_gid(t, tail):
    return t.run(t.a, "grep -ql %s /sys/class/infiniband/%s/ports/1/gids/*"
                 % (tail, t.dev(t.a))).rc == 0


def _check_addresses(t):
    t.run(t.a, "ip addr add 10.90.0.1/24 dev eth0", check=True)
    t.a.wait_until("grep -q ffff:0a5a:0001 /sys/class/infiniband/*/ports/1/gids/*", timeout=5)
    t.case("a new address gives a GID", True)
    t.run(t.a, "ip addr del 10.90.0.1/24 dev eth0", check=True)
    t.a.wait_until("! grep -q ffff:0a5a:0001 /sys/class/infiniband/*/ports/1/gids/*", timeout=5)
    t.case("a removed address has no GID", not _has_gid(t, "ffff:0a5a:0001"))


def _check_full_table(t):
    """More addresses than the table has room for, both types of each counted: 256 GIDs."""
    gids = "cd /sys/class/infiniband/%s/ports/1/gids; grep -L 0000:0000:0000:0000:0000:0000:0000:0000 * " \
           "| wc -l" % t.dev(t.a)
    before = t.run(t.a, gids, check=True).out
    t.run(t.a, "for i in $(seq 140); do echo addr add 10.91.0.$i/32 dev eth0; done | ip -batch -",
          check=True)
    t.a.wait_until("[ $(%s) = 256 ]" % gids, timeout=15)
    t.case("a full table has 256 GIDs", True)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="with a full table: ")
    t.run(t.a, "for i in $(seq 140); do echo addr del 10.91.0.$i/32 dev eth0; done | ip -batch -",
          check=True)
    t.a.wait_until("[ $(%s) = %s ]" % (gids, before.strip()), timeout=15)
    t.case("all of them go with their addresses", True)


# Another program's bind() to the port, with both options that allow sharing.
_BIND = """import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
try:
    s.bind((sys.argv[1], 4791))
except OSError as why:
    print(why.strerror)
"""


def _check_port(t):
    for address in (t.a.address, "", "::"):
        said = t.run(t.a, ["python3", "-c", _BIND, address], 20, check=True).out
        t.case("no program can share the port of %s" % (address or "all addresses"),
               "in use" in said, said)


def _check_mtu(t):
    for mtu, want in ((9000, 4096), (700, 512), (1500, 1024)):
        t.run(t.a, "ip link set eth0 mtu %d; ip addr replace fd77::1/64 dev eth0 nodad "
                   "2>/dev/null; true" % mtu)
        result = t.run(t.a, "sleep 0.3; ibv_devinfo -d %s | grep active_mtu" % t.dev(t.a))
        t.case("netdev MTU %d gives active_mtu %d" % (mtu, want), str(want) in result.out,
               result.out)
    t.lab.wait_gids(t.a)


def _check_mac(t):
    old = t.run(t.a, "cat /sys/class/net/eth0/address").out.strip()
    t.run(t.a, "ip link set eth0 address 02:11:22:33:44:55", check=True)
    t.tool("vverify", "-m rc/write -m ud/send", timeout=60, prefix="after a MAC change: ")
    t.run(t.a, "ip link set eth0 address " + old, check=True)
    t.lab.wait_gids(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="after changing it back: ")


def _check_refusals(t, link, kind):
    mark = t.a.dmesg_mark()

    def refused(name, command, words=""):
        result = t.run(t.a, command, 20)
        said = result.err + result.out + t.a.dmesg_since(mark)
        t.case(name + " is refused", result.rc != 0, result.out)
        if words and t.is_tern:
            t.case(name + ": the message gives the reason", any(w in said for w in words), said[-800:])

    device = t.dev(t.a)
    refused("a second link on the netdev", "rdma link add other type %s netdev eth0" % kind,
            ("exist", "already", "in use"))
    t.run(t.a, "ip link add dummy7 type dummy; ip link set dummy7 up")
    refused("a name in use", "rdma link add %s type %s netdev dummy7" % (device, kind),
            ("exist", "already", "in use"))
    refused("a netdev that is not there", "rdma link add other type %s netdev nosuch0" % kind)
    if t.is_tern:
        refused("the loopback netdev", "rdma link add other type %s netdev lo" % kind,
                ("lo", "Ethernet", "suitable", "support"))
        t.run(t.a, "rdma link add other type %s netdev dummy7" % kind, check=True)
        t.case("a second link on another netdev works", t.dev(t.a, "dummy7") == "other")
        t.run(t.a, "ip link del dummy7", 20)
        t.case("it ends with its netdev", t.dev(t.a, "dummy7") is None)
    t.run(t.a, "ip link del dummy7 2>/dev/null; true")


def _check_port_conflict(t, link, kind):
    t.run(t.a, "rdma link delete " + t.dev(t.a), check=True)
    t.lab.unload(t.a, t.lab.device)
    holder = t.start(t.a, ["python3", "-c",
                           "import socket,time\ns=socket.socket(2,2)\ns.bind(('',4791))\n"
                           "print('bound',flush=True)\ntime.sleep(60)"], 60)
    holder.wait_for("bound", 20)
    mark = t.a.dmesg_mark()
    result = t.run(t.a, "modprobe %s; rdma link add %s type %s netdev eth0"
                   % (MODULE[t.lab.device], link, kind), 30)
    said = result.err + t.a.dmesg_since(mark)
    t.case("a UDP port in use is an error", result.rc != 0, said)
    if t.is_tern:
        t.case("the message names the port", "4791" in said, said[-800:])
    t.kill(holder)
    t.lab.unload(t.a, t.lab.device)


def run(t):
    link, kind = LINK[t.lab.device]
    _check_addresses(t)
    if t.lab.device == "tern":
        _check_full_table(t)
        _check_port(t)
    _check_mtu(t)
    _check_mac(t)
    _check_refusals(t, link, kind)
    _check_port_conflict(t, link, kind)
    # The module is not loaded now. The link type's alias has to load it.
    t.check_run("rdma link add loads the module by its alias", t.a,
                "rdma link add %s type %s netdev eth0" % (link, kind), 40)
    t.lab.add_link(t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="afterwards: ")
