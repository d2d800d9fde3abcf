# SPDX-License-Identifier: GPL-2.0
"""A case for each verb, opcode, status and limit, over each way that messages can go; both ends in one guest."""

from vmtest import conformance

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 600

# Groups of cases that depend on how messages go.
_OF_WAYS = ("PostSend", "PostForm", "PostRecv", "Wr", "WrForm", "*_ERR", "BindMw*", "AsyncEvent", "Datagram",
            "Multicast", "QpState", "QueryQp", "ModifyQp", "OnDemand", "DeviceMemory", "ReqNotifyCq", "PollEx")
_ONLY = "--gtest_filter=" + ":".join(group + ".*" for group in _OF_WAYS)


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


def run(t):
    if t.pair == "iwarp-iwarp":
        conformance.check(t, iwarp=True)
        return
    _check_as_packets(t, "-f 4", "")
    if not t.lab.native:
        t.note("IPv6, RoCEv1 and the local path: on the native rig")
        return
    _check_as_packets(t, "-f 6 " + _ONLY, "ipv6/")
    _check_as_packets(t, "-r 1 " + _ONLY, "v1/")
    conformance.check(t, "-f 4 " + _ONLY, "local/")
