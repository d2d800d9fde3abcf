# SPDX-License-Identifier: GPL-2.0
"""The ping-pong programs of libibverbs, polling and with events, IPv4 and IPv6, contents checked."""

PAIRS = ("tern-tern", "tern-rxe", "rxe-tern")
LIMIT = 180
PORT = 18515


def _run_xsrq(t, devices, gids):
    """Initiator, target and XRC SRQs. rxe has no XRC."""
    for options in ("", "-e"):
        command = "ibv_xsrq_pingpong -n 100 -s 4097 %s" % options
        t.pair_case("xsrq %s" % (options or "polling"),
                    "%s -d %s -g %d" % (command, devices[1], gids[1]),
                    "%s -d %s -g %d %s" % (command, devices[0], gids[0], t.b.address),
                    port=PORT, timeout=30)


def run(t):
    devices = t.dev(t.a), t.dev(t.b)
    families = {"ipv4": (t.a.address, t.b.address), "ipv6": (t.a.address6, t.b.address6)}
    for family, addresses in families.items():
        gids = [t.gid_index(guest, address) for guest, address in zip(t.guests, addresses)]
        if not t.case("GIDs of " + family, None not in gids, str(gids)):
            continue
        if t.pair == "tern-tern" and family == "ipv4":
            _run_xsrq(t, devices, gids)
        for kind in ("rc", "uc", "ud", "srq"):
            for options in ("", "-e"):
                if family == "ipv6" and options:
                    continue
                # -c compares what arrived with what was sent; ud has no such option.
                check = "-c" if kind in ("rc", "uc", "srq") else ""
                size = "-s 1024" if kind == "ud" else "-s 4097"
                command = "ibv_%s_pingpong -n 100 %s %s %s" % (kind, size, check, options)
                t.pair_case("%s %s %s" % (kind, family, options or "polling"),
                            "%s -d %s -g %d" % (command, devices[1], gids[1]),
                            "%s -d %s -g %d %s" % (command, devices[0], gids[0], t.b.address),
                            port=PORT, timeout=30)
