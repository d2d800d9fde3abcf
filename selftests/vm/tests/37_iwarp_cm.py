# SPDX-License-Identifier: GPL-2.0
"""iWARP connection setup: IPv4 and IPv6, namespaces, others' QPs, taken ports, a full backlog."""

import re

from riglib.rping import rping
from vmtest import faults

PAIRS = ("iwarp-iwarp",)
LIMIT = 200

_TRACING = "/sys/kernel/tracing"
_CONNECTIONS = 48
# At most 1024 connections may wait for their MPA request (IW_MAX_PENDING), 10 s each (IW_MPA_TIMEOUT).
_SILENT_CLIENT = """import resource, select, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
began = time.monotonic()
sockets = [socket.create_connection((sys.argv[1], 7490), 20) for _ in range(1100)]
took = time.monotonic() - began
poll = select.poll()
for s in sockets:
    poll.register(s, select.POLLIN)
first = poll.poll(20000)
age = time.monotonic() - began
name = "silent/the_oldest_of_1100_is_closed_early"
print("TAP version 13\\n1..1")
# After 10 s all are closed by the time limit: if connecting took long, the cause is not known.
if took > 5:
    print("ok 1 %s # SKIP connecting took %.0f s" % (name, took))
else:
    ok = first and age < 9.5 and sockets[0].fileno() in dict(first)
    print("%sok 1 %s\\n# after %.1f s, %d" % ("" if ok else "not ", name, age, len(first)))
"""


def _check_families(t):
    for name, address in (("IPv4", t.b.address), ("IPv6", t.b.address6)):
        t.pair_case("a listener on :: accepts a client of " + name, rping(3, "-s -a ::"),
                    rping(3, "-c -a " + address), port="cm")


def _check_owners(t):
    """A QP's number is not secret, so no other process may connect the QP by it."""
    as_user = "exec setpriv --reuid %d --regid 1 --clear-groups /tern/vcm "
    refused = "Operation not permitted"
    holder = t.start(t.a, as_user % 1001 + "make-qp " + t.b.address, 60)
    holder.wait_for("QP", 20)
    qpn = re.search(r"QP (\d+)", holder.output()).group(1)
    for user, uid in (("another user", 1002), ("root", 0), ("the same user", 1001)):
        result = t.run(t.a, as_user % uid + "connect-qp %s %s" % (qpn, t.b.address))
        t.case("%s connects a QP of another process: %s" % (user, refused),
               refused in result.out, result.out + result.err)
    t.kill(holder, signal=15)
    # A process with the device's file may do anything to the QP.
    result = t.run(t.a, as_user % 1001 + "connect-qp-in-child " + t.b.address)
    t.case("a child with the process's files may connect it", "allowed" in result.out,
           result.out + result.err)


def _check_taken_ports(t):
    """rdma_cm does not know which ports TCP sockets have."""
    for what, fixed, want in (("an ephemeral port", 0, "RDMA_CM_EVENT_ESTABLISHED"),
                              ("port 7123", 7123, "Address already in use")):
        holder = t.start(t.a, ["python3", "-c", "import socket,time\ns=socket.socket()\n"
                               "s.bind(('',%d))\ns.listen()\n"
                               "print('bound to %%d.'%%s.getsockname()[1],flush=True)\n"
                               "time.sleep(60)" % fixed], 60)
        holder.wait_for(".", 20)
        port = int(re.search(r"bound to (\d+)", holder.output()).group(1))
        server = t.start(t.b, "/tern/vcm accept", 60)
        t.wait_cm_listen(t.b)
        result = t.run(t.a, "/tern/vcm connect %s %d" % (t.b.address, port))
        t.case("from %s, in use by TCP: %s" % (what, want), want in result.out,
               result.out + result.err)
        t.kill(server, holder)


def _check_backlog(t):
    """Requests wait while iw_cm's queue, of one, is full. No connection is reset."""
    probe = t.run(t.b, "cd %s && echo p:iw_full tern:iw_ep_retry >kprobe_events && "
                       "echo 1 >events/kprobes/iw_full/enable" % _TRACING)
    server = t.start(t.b, "exec /tern/vcm reject 100000", 100)
    t.wait_cm_listen(t.b)
    full = 0
    for _ in range(10):
        result = t.run(t.a, "/tern/vcm connect-many %d %s" % (_CONNECTIONS, t.b.address), 60)
        if not t.case("%d requests at once are answered" % _CONNECTIONS,
                      result.out == "%d RDMA_CM_EVENT_REJECTED Connection refused\n" % _CONNECTIONS,
                      result.out + result.err):
            break
        seen = t.run(t.b, "awk '$1 == \"iw_full\" { print $2 }' %s/kprobe_profile" % _TRACING).out
        full = int(seen or 0)
        if full or probe.rc:
            break
    t.kill(server, signal=15)
    t.run(t.b, "cd %s && echo 0 >events/kprobes/iw_full/enable; echo >kprobe_events" % _TRACING)
    if probe.rc:
        t.skip("the queue was full", "no kprobes in this kernel")
    else:
        t.case("the queue was full", full > 0)


def _check_late_answer(t):
    """An application may answer later than a handshake may take, and is told the agreed depths."""
    server = t.start(t.b, "/tern/vcm accept-after 15", 90)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, "/tern/vcm connect %s 0" % t.b.address, 80)
    t.case("an answer after 15 s connects", "RDMA_CM_EVENT_ESTABLISHED" in result.out,
           result.out + result.err)
    t.finish(server, 30)
    # vcm's own numbers: the caller offers 3 outstanding READs, the other end 5.
    t.case("the passive side knows both depths", "depths 3 5\n" in server.output(), server.output())


def _check_refusal(t):
    result = t.run(t.a, "/tern/vcm connect %s 0" % t.b.address)
    t.case("no listener: the rejection does not return our own private data",
           result.out == "RDMA_CM_EVENT_REJECTED, 0 bytes of private data\n",
           result.out + result.err)


def _check_silent_peers(t):
    """Silent connections make room for others, the oldest first."""
    server = t.start(t.b, "exec /tern/vcm accept", 60)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, ["python3", "-c", _SILENT_CLIENT, t.b.address], 50)
    t.take_tap(result)
    result = t.run(t.a, "/tern/vcm connect %s 0" % t.b.address, 40)
    t.case("a client that sends a request connects", "RDMA_CM_EVENT_ESTABLISHED" in result.out,
           result.out + result.err)
    t.kill(server, signal=15)


def _check_namespaces(t):
    """A link's ports and addresses are those of its own namespace only."""
    t.undo = [lambda: t.run(t.a, "ip netns del n1")]
    t.run(t.a, "ip netns add n1 && ip -n n1 link set lo up", check=True)
    blocker = t.start(t.a, ["python3", "-c", "import socket,time\ns=socket.socket()\n"
                            "s.bind(('',7490))\ns.listen()\nprint('bound.',flush=True)\n"
                            "time.sleep(60)"], 60)
    blocker.wait_for("bound.", 20)
    listener = t.start(t.a, "exec nsenter --net=/run/netns/n1 /tern/vcm accept", 60)
    t.wait_cm_listen(t.a)
    t.case("a port taken in the link's namespace does not keep others from listening elsewhere",
           listener.running, listener.output())
    t.kill(blocker)
    t.kill(listener, signal=15)
    listener = t.start(t.a, "exec nsenter --net=/run/netns/n1 /tern/vcm accept", 60)
    t.wait_cm_listen(t.a)
    ports = t.run(t.a, "cat /proc/net/tcp /proc/net/tcp6", check=True).out
    t.case("a listener of another namespace opens no port in the link's",
           ":%04X" % 7490 not in ports, ports)
    t.kill(listener, signal=15)
    # Before Linux 6.5 rdma_cm looks at the hardware address alone.
    t.run(t.a, "ip -n n1 link add eth0 address $(cat /sys/class/net/eth0/address) type dummy && "
               "ip -n n1 addr add %s/24 dev eth0 && ip -n n1 link set eth0 up && "
               "ip -n n1 neigh add %s lladdr 02:00:00:00:00:99 dev eth0" % (
                   t.a.address, t.b.address), check=True)
    server = t.start(t.b, "exec /tern/vcm accept", 60)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, "nsenter --net=/run/netns/n1 /tern/vcm connect %s 0" % t.b.address, 40)
    t.case("another namespace does not connect by the link",
           result.out and "ESTABLISHED" not in result.out, result.out + result.err)
    t.kill(server, signal=15)
    t.undo_now()


# Only allocations that cannot wait fail (the default), and only small ones: debugging code has caches
# of its own, and switches itself off without memory.
_FAILSLAB = {"/sys/kernel/slab/kmalloc-%d/failslab" % size: 1 for size in (8, 16, 32, 64, 96, 128)}
_FAILSLAB.update({"failslab/cache-filter": "Y", "failslab/times": -1, "failslab/verbose": 0,
               "failslab/probability": 20})


def _check_without_memory(t):
    """iw_cm copies a reply's private data. Without memory for that it still reports a failure."""
    if not faults.are_injected(t, t.a, "failslab"):
        t.skip("replies without memory for iw_cm", "no failslab in this kernel")
        return
    server = t.start(t.b, "exec /tern/vcm reject 100000", 100)
    t.wait_cm_listen(t.b)
    faults.set_up(t, t.a, _FAILSLAB)
    result = t.run(t.a, "/tern/vcm connect-many %d %s" % (_CONNECTIONS, t.b.address), 90)
    t.undo_now()
    counts = re.findall(r"^(\d+) (RDMA_CM_EVENT_|rdma_connect\(\) )", result.out, re.M)
    t.case("without memory each of %d requests gets an event or an error" % _CONNECTIONS,
           sum(int(count) for count, _ in counts) == _CONNECTIONS and "RDMA_CM_EVENT_" in result.out,
           result.out + result.err)
    t.kill(server, signal=15)


def run(t):
    _check_families(t)
    _check_refusal(t)
    _check_namespaces(t)
    _check_owners(t)
    _check_taken_ports(t)
    _check_late_answer(t)
    _check_silent_peers(t)
    _check_backlog(t)
    _check_without_memory(t)
