# SPDX-License-Identifier: GPL-2.0
"""Devices are taken from live programs by random changes of namespaces, netdevs, links, the module."""

from vmtest.lab import LINK

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 600


def _clean_up(t):
    t.run(t.a, "pkill -9 -f /tern/[v]unplug.py; pkill -9 'vverify|vchaos|rping|ibv_'; "
               "for n in u0 u1 home; do ip netns del $n; done; "
               "for n in 0 1 2; do ip link del w${n}a; done; true", 60)
    # A namespace ends some time after its name.
    t.run(t.a, "for i in $(seq 100); do rdma system set netns shared && exit; sleep 0.2; done; exit 1",
          60, check=True)
    t.lab.add_link(t.a, t.lab.driver_of(t.pair, "a"))


def run(t):
    if not t.lab.native:
        t.skip("unplug", "emulated guests are too slow for all kinds of changes")
        return
    t.undo = [lambda: _clean_up(t)]
    kind = LINK[t.lab.driver_of(t.pair, "a")][1]
    seconds = t.length(120)
    result = t.start(t.a, "/tern/vunplug.py %d %d %s" % (seconds, t.seed(), kind), seconds + 400).wait()
    t.take_tap(result)
    for line in result.out.splitlines():
        if line.startswith("# "):
            t.note(line[2:])
    t.lab.add_link(t.a, t.lab.driver_of(t.pair, "a"))
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
