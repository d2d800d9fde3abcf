# SPDX-License-Identifier: GPL-2.0
"""iWARP: what connecting meets: other families, namespaces, others' QPs, taken ports, a full backlog."""

import re

from riglib.rping import rping
from vmtest import faults

PAIRS = ("iwarp-iwarp",)
LIMIT = 200

_TRACING = "/sys/kernel/tracing"
_CROWD = 48
# 1024 are waited for at a time (IW_MAX_PENDING), 10 s each (IW_MPA_TIMEOUT).
_SILENT = """import resource, select, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
began = time.monotonic()
sockets = [socket.create_connection((sys.argv[1], 7490), 20) for _ in range(1100)]
took = time.monotonic() - began
poll = select.poll()
for s in sockets:
    poll.register(s, select.POLLIN)
first = poll.poll(20000)
age = time.monotonic() - began
name = "silent/the_oldest_of_1100_goes_at_once"
print("TAP version 13\\n1..1")
# After 10 s all go by themselves: if connecting took long, nothing tells which it was.
if took > 5:
    print("ok 1 %s # SKIP connecting took %.0f s" % (name, took))
else:
    ok = first and age < 9.5 and sockets[0].fileno() in dict(first)
    print("%sok 1 %s\\n# after %.1f s, %d" % ("" if ok else "not ", name, age, len(first)))
"""


def _both_families(t):
    for name, address in (("IPv4", t.b.address), ("IPv6", t.b.address6)):
        t.pair_case("a listener on :: takes a client of " + name, rping(3, "-s -a ::"),
                    rping(3, "-c -a " + address), port="cm")


def _owners(t):
    """A QP's number is no secret, so it must be no use to others."""
    as_user = "exec setpriv --reuid %d --regid 1 --clear-groups /tern/vcm "
    refused = "Operation not permitted"
    holder = t.start(t.a, as_user % 1001 + "hold " + t.b.address, 60)
    holder.wait_for("QP", 20)
    qpn = re.search(r"QP (\d+)", holder.output()).group(1)
    for who, uid in (("another user", 1002), ("root", 0), ("its user", 1001)):
        result = t.run(t.a, as_user % uid + "claim %s %s" % (qpn, t.b.address))
        t.case("%s has a QP of another process connected: %s" % (who, refused),
               refused in result.out, result.out + result.err)
    t.kill(holder, signal=15)
    # Who has the device's file could do anything to the QP.
    result = t.run(t.a, as_user % 1001 + "bequeath " + t.b.address)
    t.case("its child, who has its files, may", "taken" in result.out, result.out + result.err)


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
        t.kill(server, holder)


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
    t.kill(server, signal=15)
    t.run(t.b, "cd %s && echo 0 >events/kprobes/iw_full/enable; echo >kprobe_events" % _TRACING)
    if probe.rc:
        t.skip("the queue was full", "no kprobes in this kernel")
    else:
        t.case("the queue was full meanwhile", full > 0)


def _patience(t):
    """The application's answer may take longer than a handshake; then it knows what was agreed on."""
    server = t.start(t.b, "/tern/vcm dally 15", 90)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, "/tern/vcm call %s 0" % t.b.address, 80)
    t.case("an answer after 15 s is an answer", "RDMA_CM_EVENT_ESTABLISHED" in result.out,
           result.out + result.err)
    t.finish(server, 30)
    # vcm's own: the caller offers 3 READs under way, the other end 5.
    t.case("the passive side knows the depths", "depths 3 5\n" in server.output(), server.output())


def _refused(t):
    result = t.run(t.a, "/tern/vcm call %s 0" % t.b.address)
    t.case("nobody listens: what comes with the refusal is not our own",
           result.out == "RDMA_CM_EVENT_REJECTED, 0 bytes of private data\n",
           result.out + result.err)


def _silent(t):
    """Connections that say nothing make room for others, the oldest first."""
    server = t.start(t.b, "exec /tern/vcm answer", 60)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, ["python3", "-c", _SILENT, t.b.address], 50)
    t.take_tap(result)
    result = t.run(t.a, "/tern/vcm call %s 0" % t.b.address, 40)
    t.case("and who has something to say is heard", "RDMA_CM_EVENT_ESTABLISHED" in result.out,
           result.out + result.err)
    t.kill(server, signal=15)


def _namespaces(t):
    """Links' ports and addresses are those of their namespace, and nobody else's."""
    t.undo = [lambda: t.run(t.a, "ip netns del n1")]
    t.run(t.a, "ip netns add n1 && ip -n n1 link set lo up", check=True)
    blocker = t.start(t.a, ["python3", "-c", "import socket,time\ns=socket.socket()\n"
                            "s.bind(('',7490))\ns.listen()\nprint('bound.',flush=True)\n"
                            "time.sleep(60)"], 60)
    blocker.wait_for("bound.", 20)
    listener = t.start(t.a, "exec nsenter --net=/run/netns/n1 /tern/vcm answer", 60)
    t.wait_cm_listen(t.a)
    t.case("a port taken in the link's namespace does not keep others from listening",
           listener.running, listener.output())
    t.kill(blocker)
    t.kill(listener, signal=15)
    listener = t.start(t.a, "exec nsenter --net=/run/netns/n1 /tern/vcm answer", 60)
    t.wait_cm_listen(t.a)
    ports = t.run(t.a, "cat /proc/net/tcp /proc/net/tcp6", check=True).out
    t.case("a listener of another namespace opens no port in the link's",
           ":%04X" % 7490 not in ports, ports)
    t.kill(listener, signal=15)
    # Before Linux 6.5 rdma_cm goes by the hardware address alone.
    t.run(t.a, "ip -n n1 link add eth0 address $(cat /sys/class/net/eth0/address) type dummy && "
               "ip -n n1 addr add %s/24 dev eth0 && ip -n n1 link set eth0 up && "
               "ip -n n1 neigh add %s lladdr 02:00:00:00:00:99 dev eth0" % (
                   t.a.address, t.b.address), check=True)
    server = t.start(t.b, "exec /tern/vcm answer", 60)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, "nsenter --net=/run/netns/n1 /tern/vcm call %s 0" % t.b.address, 40)
    t.case("nor does another namespace connect by the link",
           result.out and "ESTABLISHED" not in result.out, result.out + result.err)
    t.kill(server, signal=15)
    t.undo_now()


# Of allocations that cannot wait, by default, and of small ones: debugging has caches of its own, and
# would end without memory.
_SHORT = {"/sys/kernel/slab/kmalloc-%d/failslab" % size: 1 for size in (8, 16, 32, 64, 96, 128)}
_SHORT.update({"failslab/cache-filter": "Y", "failslab/times": -1, "failslab/verbose": 0,
               "failslab/probability": 20})


def _short_of_memory(t):
    """iw_cm copies a reply's private data. Without memory for that it hears of a failure all the same."""
    if not faults.are_injected(t, t.a, "failslab"):
        t.skip("replies that iw_cm has no memory for", "no failslab in this kernel")
        return
    server = t.start(t.b, "exec /tern/vcm refuse 100000", 100)
    t.wait_cm_listen(t.b)
    faults.set_up(t, t.a, _SHORT)
    result = t.run(t.a, "/tern/vcm crowd %d %s" % (_CROWD, t.b.address), 90)
    t.undo_now()
    counts = re.findall(r"^(\d+) (RDMA_CM_EVENT_|rdma_connect\(\) )", result.out, re.M)
    t.case("each of %d hears what became of it, short of memory" % _CROWD,
           sum(int(count) for count, _ in counts) == _CROWD and "RDMA_CM_EVENT_" in result.out,
           result.out + result.err)
    t.kill(server, signal=15)


def run(t):
    _both_families(t)
    _refused(t)
    _namespaces(t)
    _owners(t)
    _taken_ports(t)
    _patience(t)
    _silent(t)
    _backlog(t)
    _short_of_memory(t)
