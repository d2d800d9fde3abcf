# SPDX-License-Identifier: GPL-2.0
"""iWARP: what connecting meets: other families, others' QPs, taken ports, a full backlog."""

import re

from riglib.rping import rping

PAIRS = ("ww",)
LIMIT = 150

_TRACING = "/sys/kernel/tracing"
_CROWD = 48


def _both_families(t):
    for name, address in (("IPv4", t.b.address), ("IPv6", t.b.address6)):
        t.pair_case("a listener on :: takes a client of " + name, rping(3, "-s -a ::"),
                    rping(3, "-c -a " + address), port="cm")


def _owners(t):
    """A QP's number is no secret, so it must be no use to others."""
    as_user = "exec setpriv --reuid %d --regid 1 --clear-groups /tern/vcm "
    holder = t.start(t.a, as_user % 1001 + "hold " + t.b.address, 60)
    holder.wait_for("QP", 20)
    qpn = re.search(r"QP (\d+)", holder.output()).group(1)
    for who, uid, want in (("another user", 1002, "Operation not permitted"),
                           ("root", 0, "Operation not permitted"), ("its user", 1001, "taken")):
        result = t.run(t.a, as_user % uid + "claim %s %s" % (qpn, t.b.address))
        t.case("%s has a QP of another process connected: %s" % (who, want), want in result.out,
               result.out + result.err)
    holder.kill(15)
    holder.wait(timeout=20)


def _taken_ports(t):
    """rdma_cm has its own idea of which ports are free."""
    for what, fixed, want in (("an ephemeral port", 0, "RDMA_CM_EVENT_ESTABLISHED"),
                              ("port 7123", 7123, "Address already in use")):
        holder = t.start(t.a, ["python3", "-c", "import socket,time\ns=socket.socket()\n"
                               "s.bind(('',%d))\ns.listen()\n"
                               "print('bound to %%d.'%%s.getsockname()[1],flush=True)\n"
                               "time.sleep(60)" % fixed], 60)
        holder.wait_for(".", 20)
        port = int(re.search(r"bound to (\d+)", holder.output()).group(1))
        server = t.start(t.b, "/tern/vcm answer", 60)
        t.wait_cm_listen(t.b)
        result = t.run(t.a, "/tern/vcm call %s %d" % (t.b.address, port))
        t.case("from %s, taken for TCP: %s" % (what, want), want in result.out,
               result.out + result.err)
        for command in (server, holder):
            command.kill(9)
            command.wait(timeout=20)


def _backlog(t):
    """Requests that find iw_cm's queue of one full wait; nobody's connection is reset for it."""
    probe = t.run(t.b, "cd %s && echo p:iw_full tern:iw_ep_retry >kprobe_events && "
                       "echo 1 >events/kprobes/iw_full/enable" % _TRACING)
    server = t.start(t.b, "exec /tern/vcm refuse 100000", 100)
    t.wait_cm_listen(t.b)
    full = 0
    for _ in range(10):
        result = t.run(t.a, "/tern/vcm crowd %d %s" % (_CROWD, t.b.address), 60)
        if not t.case("%d at once are answered" % _CROWD,
                      result.out == "%d RDMA_CM_EVENT_REJECTED Connection refused\n" % _CROWD,
                      result.out + result.err):
            break
        seen = t.run(t.b, "awk '$1 == \"iw_full\" { print $2 }' %s/kprobe_profile" % _TRACING).out
        full = int(seen or 0)
        if full or probe.rc:
            break
    server.kill(15)
    server.wait(timeout=20)
    t.run(t.b, "cd %s && echo 0 >events/kprobes/iw_full/enable; echo >kprobe_events" % _TRACING)
    if probe.rc:
        t.skip("the queue was full", "no kprobes in this kernel")
    else:
        t.case("the queue was full meanwhile", full > 0)


def run(t):
    _both_families(t)
    _owners(t)
    _taken_ports(t)
    _backlog(t)
