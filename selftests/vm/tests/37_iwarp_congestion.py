# SPDX-License-Identifier: GPL-2.0
"""iWARP has the congestion control of the device's file, of the route, or of TCP's sysctl."""

import re

PAIRS = ("iwarp-iwarp",)
LIMIT = 120

_PORT = 7490
_SYSCTL = "sysctl -qw net.ipv4.tcp_congestion_control="
_MISSING = "No such file or directory"
_AS_USER = "exec setpriv --reuid 1001 --regid 1 --clear-groups "


def _file(t, guest):
    return "/sys/class/infiniband/%s/congestion_control" % t.dev(guest)


def _choose(t, name, guests=None):
    for guest in guests or t.guests:
        t.run(guest, "echo %s >%s" % (name, _file(t, guest)), check=True)


def _shown(t):
    return t.run(t.a, "cat " + _file(t, t.a), check=True).out.strip()


def _check_file(t):
    t.case("'default' at first", _shown(t) == "default", _shown(t))
    # A module of that name would be tcp_nosuch.
    for bad in ("", "nosuch", "sixteen_bytes_16", "cubic reno", "x" * 40):
        # dd prints the error; a shell's echo may not.
        result = t.run(t.a, "echo '%s' | dd conv=notrunc of=%s" % (bad, _file(t, t.a)))
        t.case("refused: '%s'" % bad, result.rc and _MISSING in result.err, result.err)
    t.case("refused names change nothing", _shown(t) == "default", _shown(t))
    for good in ("reno", "cubic", "default"):
        _choose(t, good, [t.a])
        t.case("%s reads back" % good, _shown(t) == good, _shown(t))
    result = t.run(t.a, _AS_USER + "dd if=/dev/zero count=0 of=" + _file(t, t.a))
    t.case("only root may write it", result.rc and "Permission denied" in result.err, result.err)


_SHOWN = "ss -tinH state established sport = :%d or dport = :%d | grep -q mss:" % (_PORT, _PORT)


def _used(t, guest):
    """The algorithms of the guest's connections, as ss names them; ECN if DCTCP has it."""
    out = t.run(guest, "ss -tinH state established '( sport = :%d or dport = :%d )'"
                % (_PORT, _PORT), check=True).out
    # Without ECN it is dctcp:fallback_mode.
    return " ".join(re.findall(r"\s(reno|cubic|bbr|dctcp)\s", out) + ["ECN"] * ("ce_state:" in out))


def _connect(t, as_user=""):
    """Connect a to b; returns what the client and the server have."""
    server = t.start(t.b, as_user + "/tern/vcm accept", 60)
    t.wait_cm_listen(t.b)
    client = t.start(t.a, as_user + "/tern/vcm wait-disconnect %s /nowhere" % t.b.address, 60)
    client.wait_for("connected", 30)
    for guest in t.guests:
        guest.wait_until(_SHOWN, timeout=15)
    used = tuple(_used(t, guest) for guest in t.guests)
    t.kill(client, server)
    return used


def _check_choice(t, name, want, as_user=""):
    used = _connect(t, as_user)
    t.case(name, used == want, used)


def _route(t, more):
    t.run(t.a, "ip route replace %s/32 dev eth0 src %s %s" % (t.b.address, t.a.address, more),
          check=True)


def _check_order(t):
    """Route, device, sysctl: the first that says something."""
    _check_choice(t, "TCP's default", ("cubic", "cubic"))
    t.run(t.a, _SYSCTL + "reno", check=True)
    _check_choice(t, "the sysctl of one end", ("reno", "cubic"))
    t.run(t.a, _SYSCTL + "cubic", check=True)
    _choose(t, "reno")
    _check_choice(t, "the devices' files", ("reno", "reno"))
    _route(t, "congctl cubic")
    _check_choice(t, "a route's congctl comes before the file", ("cubic", "reno"))
    _choose(t, "default")
    _route(t, "congctl reno")
    _check_choice(t, "a route's congctl", ("reno", "cubic"))
    t.run(t.a, "ip route del %s/32" % t.b.address, check=True)


def _check_rights(t):
    """What TCP allows root alone, the administrator may choose for all programs."""
    for guest in t.guests:
        t.run(guest, _SYSCTL + "reno; sysctl -qw net.ipv4.tcp_allowed_congestion_control=reno",
              check=True)
    result = t.run(t.a, "echo cubic | setpriv --bounding-set -net_admin dd conv=notrunc of="
                   + _file(t, t.a))
    t.case("refused: what TCP allows root alone, to one without CAP_NET_ADMIN",
           result.rc and "Operation not permitted" in result.err, result.err)
    _choose(t, "cubic")
    _check_choice(t, "programs of a user have what the file says", ("cubic", "cubic"), _AS_USER)
    _choose(t, "default")


def _restore(t):
    for guest in t.guests:
        t.run(guest, "%scubic; sysctl -qw net.ipv4.tcp_allowed_congestion_control='reno cubic'"
              % _SYSCTL)
        t.run(guest, "echo default >" + _file(t, guest))
    t.run(t.a, "ip route del %s/32 2>/dev/null; true" % t.b.address)


def _check_modules(t):
    """Algorithms that are modules: the file loads them, and DCTCP is set up with ECN."""
    for name, want in (("bbr", "bbr"), ("dctcp", "dctcp ECN")):
        if any(t.run(guest, "modprobe -n tcp_" + name).rc for guest in t.guests):
            t.skip(name, "this kernel does not have it")
            continue
        _choose(t, name)
        _check_choice(t, name, (want, want))
        _choose(t, "default")


def run(t):
    t.undo = [lambda: _restore(t)]
    for guest in t.guests:
        # Without it ss does not know.
        t.run(guest, "modprobe tcp_diag 2>/dev/null; true")
    _check_file(t)
    _check_order(t)
    _check_rights(t)
    _restore(t)
    _check_modules(t)
