# SPDX-License-Identifier: GPL-2.0
"""RoCE's gate limits what all QPs of a link have queued in each of the netdev's queues.

Guest a sends into a namespace of it, by a veth pair with two slow queues. Their backlog shows how
many queues the gate has counted, of the link's netdev or of one below it. Queues that share a
queueing discipline count as one.
"""

import json

from vmtest import netns

LIMIT = 180

_UP = """set -e
ip netns add n1
ip link add veth0 numtxqueues 2 numrxqueues 2 type veth \\
    peer name veth1 numtxqueues 2 numrxqueues 2 netns n1
ip link set veth0 mtu 9000
ip -n n1 link set veth1 mtu 9000
ip -n n1 link set lo up
%s
%s
ip addr add 10.88.0.1/24 dev %s
ip -n n1 addr add 10.88.0.2/24 dev %s
rdma link add nsa type tern_roce netdev %s
ip netns exec n1 rdma link add nsb type tern_roce netdev %s
"""
_DOWN = ("pkill -9 vverify; ip netns del n1; "
         "ip link del bond7; ip link del bridge7; ip link del veth0; true")

# The links' netdevs: the commands that create them, and their names at the two ends.
_NETDEVS = {
    "veth": ("ip link set veth0 up; ip -n n1 link set veth1 up", "veth0", "veth1"),
    "bond": ("modprobe bonding max_bonds=0; ip link add bond7 type bond mode active-backup\n"
             "ip link set veth0 master bond7; ip link set bond7 mtu 9000 up\n"
             "ip -n n1 link set veth1 up",
             "bond7", "veth1"),
    "bridge": ("ip link add bridge7 type bridge; ip link set veth0 master bridge7\n"
               "ip link set veth0 up; ip link set bridge7 up; ip -n n1 link set veth1 up",
               "bridge7", "veth1"),
}

_SLOW = "tbf rate 100mbit burst 100kb limit 100mb"
_ONE = "tc qdisc replace dev veth0 root " + _SLOW
_TWO = ("tc qdisc replace dev veth0 root handle 1: mq\n"
        "for i in 1 2; do tc qdisc replace dev veth0 parent 1:$i %s; done" % _SLOW)
# ROCE_GATE_QUEUE_BYTES. A packet is charged with more than its length.
_QUEUE_BYTES = 512 << 10
_SECONDS = 4
_QPS = 16


def _is_limit_of(kept, queues, least):
    """True if `kept` is within the limit of that many queues, and more than `least` of one queue's.

    The limit is not exact here. A QP whose packets have not moved for 100 ms, as happens on a busy
    machine, is no longer charged for them, and other QPs send in its place.
    """
    return _QUEUE_BYTES * least < kept < _QUEUE_BYTES * (queues + 0.5)


def _measure_queued(t):
    """Send bulk; returns vverify's result and the largest backlog of the queues in bytes.

    Longer on a slow machine: what it sends fills the queues now and then only.
    """
    seconds = _SECONDS * t.slow
    server, client = netns.start_pair(t, "-d nsa -m scale/bulk -N %d -S %d -t 60 10.88.0.2"
                                      % (_QPS, seconds))
    lines = t.run(t.a, "for i in $(seq %d); do tc -j -s qdisc show dev veth0; echo; sleep 0.1; done"
                  % (10 * seconds), check=True).out.split("\n")
    result = client.wait()
    t.finish(server)
    return result, max(sum(qdisc["backlog"] for qdisc in json.loads(line)
                           if qdisc["kind"] == "tbf") for line in lines if line.strip())


def _run_case(t, name, netdev, qdisc):
    """Send bulk of many QPs over the netdev; returns the largest backlog."""
    make, here, there = _NETDEVS[netdev]
    t.run(t.a, _UP % (make, qdisc, here, there, here, there), check=True)
    t.a.wait_until(netns.links_up("tern_roce"), timeout=10)
    result, kept = _measure_queued(t)
    t.take_tap(result, name + ": ")
    t.note("%s: %d bytes" % (name, kept))
    t.run(t.a, _DOWN)
    return kept


def run(t):
    if not t.is_tern:
        t.skip("limit of a netdev's queues", "only tern has it")
        return
    if t.run(t.a, "nproc", check=True).out.strip() == "1":
        t.skip("limit of a netdev's queues", "with one CPU there is one queue")
        return
    t.undo = [lambda: t.run(t.a, _DOWN)]
    t.run(t.a, "modprobe sch_tbf", check=True)
    for netdev in "veth", "bond":
        name = "two queues, %s" % netdev
        kept = _run_case(t, name, netdev, _TWO)
        # More than one queue's limit: the hash and the CPU decide how packets are spread.
        t.case("%s: the backlog is that of two queues" % name,
               _is_limit_of(kept, 2, 1), kept)
    for netdev in _NETDEVS:
        name = "one for two, %s" % netdev
        kept = _run_case(t, name, netdev, _ONE)
        t.case("%s: the backlog is that of one queue" % name,
               _is_limit_of(kept, 1, 0.7), kept)
