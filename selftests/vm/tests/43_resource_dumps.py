# SPDX-License-Identifier: GPL-2.0
"""Raw dumps of objects say what they hold; `rdma resource show qp` does not stop local traffic."""

import json

from vmtest.lab import LINK

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300
PORT = 18515
MESSAGES = 1500

# uapi/tern-dump.h
_USER, _REQUESTER, _RESPONDER = 1, 2, 4
_ARM_ANY = 2
_INIT, _RTS = 1, 3
_RECEIVES = 77
_POST = " -r %d " % _RECEIVES


def _dump(t, guest):
    """{kind: [objects of user space]} of the guest's device."""
    out = t.run(guest, "/tern/vdump.py " + t.dev(guest), 30, check=True).out
    return {kind: objects if kind == "mr" else
            [o for o in objects or [] if kind == "srq" or o["flags"] & _USER]
            for kind, objects in json.loads(out).items()}


def _is(t, name, objects, **members):
    """A case: there is one object, and its members have these values. Returns it."""
    one = objects[0] if len(objects) == 1 else {}
    t.case(name, all(one.get(member.replace("__", ".")) == value
                     for member, value in members.items()), "%s\n%s" % (objects, members))
    return one


def _start_server(t, kind, options=""):
    command = "ibv_%s_pingpong -d %s -g %d %s" % (
        kind, t.dev(t.b), t.gid_index(t.b, t.b.address), options)
    server = t.start(t.b, command, 60)
    t.wait_port(t.b, PORT)
    return server


def _check_waiting(t):
    """A program that has posted its receives and armed its CQ, and waits for its peer."""
    server = _start_server(t, "rc", "-e" + _POST)
    there = _dump(t, t.b)
    _is(t, "a QP in INIT with its receives", there["qp"], state=_INIT, flags=_USER, type=2,
        rq__prod=_RECEIVES, rq__taken=0, sq__prod=0, sq__taken=0, marks=0, ahead_packets=0)
    cq = _is(t, "an armed CQ without CQEs", there["cq"], prod=0, cons=0, arm=_ARM_ANY, flags=_USER,
             event_count=0, event_pending=0)
    t.case("it has room for all", cq.get("cqes", 0) > _RECEIVES, str(cq))
    _is(t, "a pinned region", there["mr"], length=4096, access=1, kind=0, state=1, bound_windows=0,
        odp_tables=0, reserved=0)
    denied = t.run(t.b, "setpriv --reuid 65534 --clear-groups python3 /tern/vdump.py " + t.dev(t.b))
    t.case("dumps are for administrators", denied.rc == 1 and "EPERM" in denied.err, denied.err)
    t.kill(server)


def _check_srqs(t):
    if json.loads(t.run(t.b, "/tern/vdump.py " + t.dev(t.b), check=True).out)["srq"] is None:
        t.skip("SRQs", "this kernel does not dump them")
        return
    server = _start_server(t, "srq", _POST)
    _is(t, "the SRQ of ibv_srq_pingpong", _dump(t, t.b)["srq"], is_xrc=0, limit=0,
        rq__prod=_RECEIVES, rq__taken=0)
    t.kill(server)
    server = _start_server(t, "xsrq")
    _is(t, "the SRQ of ibv_xsrq_pingpong", _dump(t, t.b)["srq"], is_xrc=1, limit=0, rq__taken=0)
    t.kill(server)


def _check_moving(t):
    """Two ends of a ping-pong."""
    options = "-n 100000000" + _POST
    server = _start_server(t, "rc", options)
    client = t.start(t.a, "ibv_rc_pingpong -d %s -g %d %s %s" % (
        t.dev(t.a), t.gid_index(t.a, t.a.address), options, t.b.address), 60)
    t.a.wait_until(t.has_grown(t.a, "rx_packets", 1000), timeout=20)
    first, far = _dump(t, t.a), _dump(t, t.b)
    qp = _is(t, "the QP of a client", first["qp"], state=_RTS, path_mtu=1024,
             dest_qpn=far["qp"][0]["qpn"], flags=_USER | _REQUESTER | _RESPONDER)
    _is(t, "the QP of its server", far["qp"], state=_RTS, dest_qpn=qp.get("qpn"))
    # One retransmission may be under way.
    t.case("the QP has retries left", 0 < qp.get("retries_left", 0) <= 7, str(qp))
    t.a.wait_until(t.has_grown(t.a, "rx_packets", 1000), timeout=20)
    then = _dump(t, t.a)
    for kind, member in (("qp", "sq.taken"), ("qp", "sq.retired"), ("qp", "rq.taken"),
                         ("qp", "next_psn"), ("qp", "expected_psn"), ("cq", "prod"), ("cq", "cons")):
        before, after = first[kind][0][member], then[kind][0][member]
        t.case("%s of a %s moves" % (member, kind.upper()), before != after, "%d, %d" % (before, after))
    t.kill(client, server)


def _check_iwarp(t):
    """rping's ends wait for each other's answers."""
    command = "exec rping -C 100000000 -a %s " % t.b.address
    server = t.start(t.b, command + "-s", 60)
    t.wait_cm_listen(t.b)
    client = t.start(t.a, command + "-c", 60)
    t.a.wait_until("rdma resource show qp | grep -q 'type RC state RTS'", timeout=10)
    _is(t, "the QP of rping", _dump(t, t.a)["qp"], state=_RTS, terminate=0, next_psn=0,
        flags=_USER | _REQUESTER | _RESPONDER)
    t.kill(client, server)


def _check_beside_dumps(t, name, options):
    """Send long messages both ways within guest a, beside a loop that lists the QPs."""
    command = "ib_write_bw -b -F -d %s -x %d -s 1048576 -n %d %s" % (
        t.dev(t.a), t.gid_index(t.a, t.a.address), MESSAGES, options)
    watcher = t.start(t.a, "n=0; while rdma resource show qp >/dev/null; do n=$((n+1)); done", 150)
    before = t.counter(t.a, "local_bytes")
    try:
        server, client = t.pair_run(command, "%s %s" % (command, t.a.address), port=PORT,
                                    timeout=70, at=t.a)
    finally:
        running = watcher.running
        t.kill(watcher)
    t.case(name + ": both programs end", server.rc == 0 and client.rc == 0,
           "exit %d, %d\n%s%s" % (server.rc, client.rc, client.out[-800:], client.err[-800:]))
    moved = t.counter(t.a, "local_bytes") - before
    t.case(name + ": all bytes took the local path", moved >= 2 * MESSAGES << 20, moved)
    t.case(name + ": the loop ran until the end", running)


def run(t):
    if LINK[t.lab.driver_of(t.pair, "a")][1] == "tern_iwarp":
        _check_iwarp(t)
        return
    _check_waiting(t)
    _check_srqs(t)
    _check_moving(t)
    _check_beside_dumps(t, "one QP", "")
    _check_beside_dumps(t, "four QPs", "-q 4")
