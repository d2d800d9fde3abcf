# SPDX-License-Identifier: GPL-2.0
"""iWARP over interfaces other than Ethernet: lo, tunnels; a MAC address that changes."""

from riglib.rping import rping

PAIRS = ("iwarp-iwarp",)
LIMIT = 150

# For rdma_cm 127.0.0.1 and ::1 mean "any device", so lo gets other addresses.
_LO, _LO6 = "10.98.0.1", "fd98::1"
_MAC = "02:00:00:00:00:98"


def _add_link(t, guest, netdev):
    t.check_run("guest %s: a link on %s" % (guest.name, netdev), guest,
                "rdma link add on_%s type tern_iwarp netdev %s" % (netdev, netdev))


def _check_without_mac(t, netdev):
    """A netdev without a hardware address: the device works; the log has a line if rdma_cm needs one."""
    mark = t.a.dmesg_mark()
    _add_link(t, t.a, netdev)
    said = t.a.dmesg_since(mark)
    needed = t.lab.version < (6, 5)
    t.case("the log %s that %s has no hardware address" % ("says" if needed else "does not say",
                                                           netdev),
           needed == ("tern: %s has no hardware address" % netdev in said), said[-800:])
    t.check_run("ibv_devinfo of a link on " + netdev, t.a,
                "ibv_devinfo -d on_%s | grep iWARP" % netdev)


def _run_within_a(t, name, there, here):
    """Run both programs in guest a."""
    t.pair_case(name, there, here, port="cm", at=t.a)


def _check_lo(t):
    t.run(t.a, "ip link set lo up; ip addr add %s/32 dev lo; ip addr add %s/128 dev lo nodad"
          % (_LO, _LO6), check=True)
    _check_without_mac(t, "lo")
    t.run(t.a, "ip link set lo address " + _MAC, check=True)
    for address in (_LO, _LO6):
        _run_within_a(t, "rping over lo, " + address, rping(5, "-s -a " + address),
                      rping(5, "-c -a " + address))
    _run_within_a(t, "verified data over lo", "/tern/viwarp -n 3", "/tern/viwarp -n 3 " + _LO)
    t.run(t.a, "rdma link delete on_lo", check=True)


def _restore_lo(t):
    t.run(t.a, "ip addr del %s/32 dev lo; ip addr del %s/128 dev lo; "
               "ip link set lo address 00:00:00:00:00:00" % (_LO, _LO6))


def _check_tun(t):
    t.run(t.a, "modprobe tun; ip tuntap add mode tun name tun7; ip link set tun7 up", check=True)
    _check_without_mac(t, "tun7")
    t.run(t.a, "ip link del tun7", check=True)


def _check_tunnel(t, kind, local):
    """A tunnel between the guests. Its hardware address is the outer IP address."""
    for guest, other in zip(t.guests, t.guests[::-1]):
        t.run(guest, "modprobe %s; ip link add tun7 type %s local %s remote %s; "
                     "ip addr add 10.96.0.%d/24 dev tun7; ip link set tun7 up"
              % ("ip6_gre" if "6" in kind else "ip_gre", kind, local(guest), local(other),
                 guest.index), check=True)
        _add_link(t, guest, "tun7")
    there = "10.96.0.%d" % t.b.index
    t.pair_case("rping over " + kind, rping(5, "-s -a " + there), rping(5, "-c -a " + there),
                port="cm")
    t.pair_case("verified data over " + kind, "/tern/viwarp -n 3 -b 65536 -l " + there,
                "/tern/viwarp -n 3 -b 65536 " + there, port="cm", want="verified")
    for guest in t.guests:
        t.run(guest, "ip link del tun7", check=True)
        guest.wait_until("! rdma link | grep -q on_tun7", timeout=10)
    t.case("the links over %s end with it" % kind, True)


def _check_mac_change(t):
    mac = t.run(t.b, "cat /sys/class/net/eth0/address", check=True).out.strip()
    for new in ("02:11:22:33:44:55", mac):
        t.run(t.b, "ip link set eth0 address " + new, check=True)
        t.run(t.a, "ip neigh flush dev eth0", check=True)
        t.pair_case("rping after the server's MAC changed to " + new,
                    rping(3, "-s -a " + t.b.address), rping(3, "-c -a " + t.b.address), port="cm")


def _max_segments(t, guest):
    shown = t.run(guest, "ip -d link show dev eth0", check=True).out.split()
    return shown[shown.index("gso_max_segs") + 1]


def _check_small_packets(t):
    """Packets of one segment: since 6.5 TCP handles its backlog at each 16th packet of a call."""
    before = [_max_segments(t, guest) for guest in t.guests]
    t.undo += [lambda guest=guest, usual=usual:
               t.run(guest, "ip link set eth0 gso_max_segs " + usual)
               for guest, usual in zip(t.guests, before)]
    for guest in t.guests:
        t.run(guest, "ip link set eth0 gso_max_segs 1", check=True)
    t.pair_case("verified data in packets of one segment", "/tern/viwarp -n 6",
                "/tern/viwarp -n 6 " + t.b.address, port=7471, want="verified")
    for guest, usual in zip(t.guests, before):
        t.run(guest, "ip link set eth0 gso_max_segs " + usual, check=True)


def run(t):
    t.undo = [lambda: _restore_lo(t)]
    t.undo += [lambda guest=guest: t.run(guest, "ip link del tun7 2>/dev/null; true")
               for guest in t.guests]
    _check_lo(t)
    _check_tun(t)
    _check_tunnel(t, "gre", lambda guest: guest.address)
    _check_tunnel(t, "ip6gre", lambda guest: guest.address6)
    _check_mac_change(t)
    _check_small_packets(t)
