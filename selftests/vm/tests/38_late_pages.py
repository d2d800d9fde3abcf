# SPDX-License-Identifier: GPL-2.0
"""Memory on demand whose pages do not come for a time: who waits, and programs killed meanwhile."""

PAIRS = ("tern-tern",)
LIMIT = 200

_MODULE = "tern_late"
_HOLD = "/sys/module/%s/parameters/hold" % _MODULE
_WAITING = "/sys/module/%s/parameters/waiting" % _MODULE


def _load(t, guest):
    t.lab.push_module(guest, _MODULE)
    t.run(guest, "insmod /tern/%s.ko" % _MODULE, check=True)
    t.undo.append(lambda: guest.run("echo 0 >%s; rmmod %s; true" % (_HOLD, _MODULE)))


def _check_killed(t):
    """It ends at once. Its objects end with the page; until then others are served."""
    server, client = t.tool_start("vverify", "-m odp-late/held -S 60", 100)
    t.check_run("a page fault waits", t.a,
                "for i in $(seq 200); do [ $(cat %s) = 1 ] && exit; sleep 0.1; done; exit 1" % _WAITING)
    t.run(t.a, "pkill -9 -x vverify", check=True)
    t.finish(server, 30)
    t.sleep(1)
    t.case("killed: it ends", t.finish(client, 30))
    t.tool("vverify", "-m odp/losing-twice -m odp/ahead/write", timeout=60, prefix="beside it: ")
    t.case("the page has not come", t.run(t.a, "cat " + _WAITING).out.strip() == "1")
    t.run(t.a, "echo 0 >" + _HOLD, check=True)


def run(t):
    for guest in t.guests:
        _load(t, guest)
    t.tool("vverify", "-m 'odp-late/*'", timeout=120)
    _check_killed(t)
