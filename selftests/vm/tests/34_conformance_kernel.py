# SPDX-License-Identifier: GPL-2.0
"""A case for each verb, opcode, status and limit that only kernel consumers reach; both ends in one guest."""

import re

from vmtest import tap

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300
_MODULE = "tern_conform"
# The cases that tern may skip: those of the other transport, and a verb that newer kernels lack.
_MAY_SKIP = re.compile(r"only (RoCE|iWARP) has it$|this kernel resizes no kernel CQs$")


def _check(t, prefix, address):
    """Load the module: each of its cases becomes a case here."""
    mark = t.a.dmesg_mark()
    result = t.run(t.a, "insmod /tern/%s.ko netdev=eth0 address=%s; code=$?; rmmod %s 2>/dev/null; "
                   "exit $code" % (_MODULE, address, _MODULE), 200)
    lines = re.findall(_MODULE + r": (.*)", t.a.dmesg_since(mark))
    plan, cases = tap.parse("\n".join(lines))
    for case in cases:
        if case.skipped is None:
            t.case(prefix + case.name, case.ok, case.why)
        elif _MAY_SKIP.match(case.skipped):
            t.skip(prefix + case.name, case.skipped)
        else:
            t.case(prefix + case.name, False, "skipped: " + case.skipped)
    t.case(prefix + "all cases ran", plan and len(cases) == plan and not result.rc, "%d of %d, exit %d\n%s" % (
        len(cases), plan, result.rc, result.err))


def _check_roce(t):
    local = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    t.undo.append(lambda: t.a.run("echo Y >" + local))
    t.run(t.a, "echo N >" + local, check=True)
    _check(t, "", t.a.address)
    _check(t, "ipv6/", t.a.address6)
    t.run(t.a, "echo Y >" + local, check=True)
    _check(t, "local/", t.a.address)


def run(t):
    t.lab.push_module(t.a, _MODULE)
    if t.pair == "iwarp-iwarp":
        _check(t, "", t.a.address)
        _check(t, "ipv6/", t.a.address6)
    else:
        _check_roce(t)
    # ib_core keeps the CQs of its pool until the device is removed.
    t.run(t.a, "rdma link delete " + t.dev(t.a), check=True)
    t.lab.add_link(t.a, t.lab.driver_of(t.pair, "a"))
