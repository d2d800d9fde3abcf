# SPDX-License-Identifier: GPL-2.0
"""Fault injection (debug kernels): a verb whose allocation fails returns an error and leaves nothing."""

from vmtest import faults
from vmtest.lab import LINK

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300

# Allocations that may sleep fail too, and single pages; the log stays silent.
_SETTINGS = {"failslab/verbose": 0, "failslab/ignore-gfp-wait": "N", "fail_page_alloc/verbose": 0,
             "fail_page_alloc/ignore-gfp-wait": "N", "fail_page_alloc/min-order": 0}


def _run_vfault(t, prefix, options):
    t.take_tap(t.run(t.a, "/tern/vfault -n eth0 " + options, 250), prefix)


def run(t):
    if not faults.are_injected(t, t.a, "failslab"):
        t.skip("fault injection", "this kernel has none")
        return
    faults.set_up(t, t.a, _SETTINGS)
    # Debugging code's own lines when it has no memory.
    t.allow_log("ref_tracker: memory allocation failure",
                "kmemleak: Cannot allocate a scan area")
    kind = LINK[t.lab.driver_of(t.pair, "a")][1]
    t.undo.append(lambda: t.a.run("ip link del dummy7; true"))
    t.run(t.a, "ip link add dummy7 type dummy && ip link set dummy7 up", check=True)
    _run_vfault(t, "", "-a %s -t %s -l dummy7" % (t.a.address, kind))
    if t.pair == "tern-tern":
        local = "/sys/class/infiniband/%s/local" % t.dev(t.a)
        t.undo.append(lambda: t.a.run("echo Y >" + local))
        t.run(t.a, "echo N >" + local, check=True)
        _run_vfault(t, "by packets: ", "")
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
