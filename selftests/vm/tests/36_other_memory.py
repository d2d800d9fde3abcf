# SPDX-License-Identifier: GPL-2.0
"""dma-bufs and device memory: data, refusals, revocation, and programs killed while they use them."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300

_MODULE = "tern_exporter"


def _load(t, guest):
    t.lab.push_module(guest, _MODULE)
    t.run(guest, "insmod /tern/%s.ko" % _MODULE, check=True)
    t.undo.append(lambda: guest.run("rmmod %s 2>/dev/null; true" % _MODULE))


def _kill_in(t, case):
    for number in range(4):
        server, client = t.tool_start("vverify", "-m %s -S 60 -t 5" % case, 60)
        t.sleep(2 + 0.3 * number)
        victim, other = (client, server) if number % 2 else (server, client)
        t.kill(victim)
        t.case("%s, %s killed: the other end ends too" % (case, "client" if number % 2 else "server"),
               t.finish(other, 30))


def _check_unused(t, guest):
    """Each dma-buf holds the module: it can be removed when all are gone."""
    # The last reference to a file is dropped a moment after its process has ended.
    t.check_run("guest %s: no dma-buf is left" % guest.name, guest,
                "for i in $(seq 50); do rmmod %s 2>/dev/null && exit; sleep 0.1; done; exit 1"
                % _MODULE)


def run(t):
    for guest in t.guests:
        _load(t, guest)
    t.tool("vverify", "-m 'mr/dma-*' -m mr/udmabuf -m 'dma-buf/*' -m 'dm/*'", timeout=180)
    _kill_in(t, "scale/mixed-dma-buf")
    _kill_in(t, "dm/busy")
    t.tool("vverify", "-m dm/limit", timeout=60, prefix="afterwards: ")
    for guest in t.guests:
        _check_unused(t, guest)
