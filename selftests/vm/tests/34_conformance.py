# SPDX-License-Identifier: GPL-2.0
"""A case for each verb, opcode, status and limit, over each way that messages can go; both ends in one guest."""

from vmtest import conformance
from vmtest.lab import LINK

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 900

# Groups of cases that depend on how messages go.
_OF_WAYS = ("PostSend", "PostForm", "PostRecv", "Wr", "WrForm", "*_ERR", "BindMw*", "AsyncEvent", "Datagram",
            "Multicast", "QpState", "QueryQp", "ModifyQp", "OnDemand", "DeviceMemory", "DmaBuf",
            "ReqNotifyCq", "PollEx")
_ONLY = "--gtest_filter=" + ":".join(group + ".*" for group in _OF_WAYS)
_MOST = "--gtest_filter=-" + conformance.APART


def _check_as_packets(t, args, prefix):
    """The same by `lo`, as packets: tern's devices hand messages within a host over without them."""
    switch = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    t.undo.append(lambda: t.run(t.a, "echo Y >" + switch))
    t.run(t.a, "echo N >" + switch, check=True)
    before = t.counter(t.a, "tx_packets")
    conformance.check(t, args, prefix)
    sent = t.counter(t.a, "tx_packets") - before
    t.case(prefix + "messages went as packets", sent > 100, sent)
    t.run(t.a, "echo Y >" + switch, check=True)


def _check_port(t, iwarp):
    """Events of a port, over a netdev that the cases may change."""
    t.undo.append(lambda: t.a.run("rdma link delete conf0; ip link delete conf0; true"))
    t.run(t.a, "ip link add conf0 type veth peer name conf1 && ip link set conf0 up && "
               "ip link set conf1 up && ip addr add 10.99.0.1/24 dev conf0 && "
               "rdma link add conf0 type %s netdev conf0" % LINK["iwarp" if iwarp else "tern"][1],
          check=True)
    conformance.check(t, "--gtest_filter=PortEvent.*", iwarp=iwarp, netdev="conf0")


def _check_limits(t, iwarp):
    """As many objects as the device has, where there are memory and time for them."""
    if not t.lab.native:
        t.skip("Limits", "they take long under emulation")
        return
    # Two maps for each of 65536 QPs, and as much again.
    t.run(t.a, "sysctl -qw vm.max_map_count=262144", check=True)
    conformance.check(t, "--gtest_filter=Limits.*", iwarp=iwarp)


def run(t):
    conformance.load_exporter(t, t.a)
    iwarp = t.pair == "iwarp-iwarp"
    if iwarp:
        conformance.check(t, _MOST, iwarp=True)
    else:
        _check_as_packets(t, "-f 4 " + _MOST, "")
    _check_port(t, iwarp)
    _check_limits(t, iwarp)
    if iwarp:
        return
    if not (t.lab.native or t.lab.long):
        t.note("IPv6, RoCEv1 and the local path: on the native rig, or with --long")
        return
    _check_as_packets(t, "-f 6 " + _ONLY, "ipv6/")
    _check_as_packets(t, "-r 1 " + _ONLY, "v1/")
    conformance.check(t, "-f 4 " + _ONLY, "local/")
