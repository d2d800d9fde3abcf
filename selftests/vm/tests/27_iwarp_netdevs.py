# SPDX-License-Identifier: GPL-2.0
"""iWARP over interfaces that are no Ethernet: lo, tunnels; a hardware address that changes."""

from riglib.rping import rping

PAIRS = ("iwarp-iwarp",)
LIMIT = 150

# rdma_cm takes 127.0.0.1 and ::1 for "any device": lo has another address here.
_LO, _LO6 = "10.98.0.1", "fd98::1"
_MAC = "02:00:00:00:00:98"


def _add(t, guest, netdev):
    t.check_run("guest %s: a link on %s" % (guest.name, netdev), guest,
                "rdma link add on_%s type tern_iwarp netdev %s" % (netdev, netdev))


def _told(t, netdev):
    """Without a hardware address: a device all the same, and where rdma_cm needs one a line that
    says so."""
    mark = t.a.dmesg_mark()
    _add(t, t.a, netdev)
    said = t.a.dmesg_since(mark)
    needed = t.lab.version < (6, 5)
    t.case("the log %s that %s has no hardware address" % ("tells" if needed else "does not tell",
                                                           netdev),
           needed == ("tern: %s has no hardware address" % netdev in said), said[-800:])
    t.check_run("ibv_devinfo of a link on " + netdev, t.a,
                "ibv_devinfo -d on_%s | grep iWARP" % netdev)


def _within(t, name, there, here):
    """Both ends in guest a."""
    t.pair_case(name, there, here, port="cm", at=t.a)


def _lo(t):
    t.run(t.a, "ip link set lo up; ip addr add %s/32 dev lo; ip addr add %s/128 dev lo nodad"
          % (_LO, _LO6), check=True)
    _told(t, "lo")
    t.run(t.a, "ip link set lo address " + _MAC, check=True)
    for address in (_LO, _LO6):
        _within(t, "rping over lo, " + address, rping(5, "-s -a " + address),
                rping(5, "-c -a " + address))
    _within(t, "verified data over lo", "/tern/viwarp -n 3", "/tern/viwarp -n 3 " + _LO)
    t.run(t.a, "rdma link delete on_lo", check=True)


def _no_lo(t):
    t.run(t.a, "ip addr del %s/32 dev lo; ip addr del %s/128 dev lo; "
               "ip link set lo address 00:00:00:00:00:00" % (_LO, _LO6))


def _tun(t):
    t.run(t.a, "modprobe tun; ip tuntap add mode tun name tun7; ip link set tun7 up", check=True)
    _told(t, "tun7")
    t.run(t.a, "ip link del tun7", check=True)


def _tunnel(t, kind, local):
    """Between the guests; its hardware address is the outer IP address."""
    for guest, other in zip(t.guests, t.guests[::-1]):
        t.run(guest, "modprobe %s; ip link add tun7 type %s local %s remote %s; "
                     "ip addr add 10.96.0.%d/24 dev tun7; ip link set tun7 up"
              % ("ip6_gre" if "6" in kind else "ip_gre", kind, local(guest), local(other),
                 guest.index), check=True)
        _add(t, guest, "tun7")
    there = "10.96.0.%d" % t.b.index
    t.pair_case("rping over " + kind, rping(5, "-s -a " + there), rping(5, "-c -a " + there),
                port="cm")
    t.pair_case("verified data over " + kind, "/tern/viwarp -n 3 -b 65536 -l " + there,
                "/tern/viwarp -n 3 -b 65536 " + there, port="cm", want="verified")
    for guest in t.guests:
        t.run(guest, "ip link del tun7", check=True)
        guest.wait_until("! rdma link | grep -q on_tun7", timeout=10)
    t.case("the links over %s went with it" % kind, True)


def _mac(t):
    mac = t.run(t.b, "cat /sys/class/net/eth0/address", check=True).out.strip()
    for new in ("02:11:22:33:44:55", mac):
        t.run(t.b, "ip link set eth0 address " + new, check=True)
        t.run(t.a, "ip neigh flush dev eth0", check=True)
        t.pair_case("rping after the server's MAC changed to " + new,
                    rping(3, "-s -a " + t.b.address), rping(3, "-c -a " + t.b.address), port="cm")


def _segments(t, guest):
    shown = t.run(guest, "ip -d link show dev eth0", check=True).out.split()
    return shown[shown.index("gso_max_segs") + 1]


def _small_packets(t):
    """From 6.5 on TCP looks for what came in at each 16th packet of a call: of one segment here."""
    before = [_segments(t, guest) for guest in t.guests]
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
    t.undo = [lambda: _no_lo(t)]
    t.undo += [lambda guest=guest: t.run(guest, "ip link del tun7 2>/dev/null; true")
               for guest in t.guests]
    _lo(t)
    _tun(t)
    _tunnel(t, "gre", lambda guest: guest.address)
    _tunnel(t, "ip6gre", lambda guest: guest.address6)
    _mac(t)
    _small_packets(t)
