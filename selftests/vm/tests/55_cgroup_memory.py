# SPDX-License-Identifier: GPL-2.0
"""All objects of a program are charged to its cgroup: user nobody gets no more than the limit."""

import re

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 200

_MIB = 1 << 20
_LIMIT = 64 * _MIB
# The host may lose this much: the cgroup's limit, and as much again for what ib_core and others
# allocate for the objects without charging it.
_MOST = 2 * _LIMIT
_TOP = "/sys/fs/cgroup"
_GROUP = _TOP + "/tern-test"
# How many of each kind to make: uncharged they would take three times the limit, small ones more.
_KINDS = {"cq": 48, "srq": 42, "qp": 60, "small-qp": 30000, "empty-mr": 400000, "mw": 400000,
          "dm": 200}
# The OOM killer's lines.
_KILLED = (r"Call Trace", r"Memory cgroup out of memory")
# The kernel's lines about failed allocations.
_FAILURE = r"dmesg | grep -E 'vmalloc error|allocation failure|SLUB: Unable'"


def _set_up(t):
    """Make the cgroup. False: this kernel cannot limit its memory."""
    if not t.run(t.a, "grep -qw memory %s/cgroup.controllers" % _TOP).ok:
        return False
    t.undo.append(lambda: t.a.run("rmdir %s; true" % _GROUP))
    t.run(t.a, "echo +memory >{0}/cgroup.subtree_control; mkdir -p {1}; echo {2} >{1}/memory.max; "
               "[ ! -e {1}/memory.swap.max ] || echo 0 >{1}/memory.swap.max".format(
                   _TOP, _GROUP, _LIMIT), check=True)
    return True


def _read_available(t):
    """Bytes of memory that the guest has available."""
    out = t.run(t.a, "echo 3 >/proc/sys/vm/drop_caches; cat /proc/meminfo", check=True).out
    return int(re.search(r"MemAvailable: *(\d+)", out).group(1)) * 1024


def _check_kind(t, kind, most):
    before = _read_available(t)
    command = t.start(t.a, "echo $$ >%s/cgroup.procs && exec setpriv --reuid=65534 --regid=65534 "
                      "--clear-groups --inh-caps=-all /tern/vexhaust -n eth0 -k %s -m %d"
                      % (_GROUP, kind, most), 100)
    try:
        while command.running and "\n" not in command.output():
            t.sleep(0.1)
        taken = before - _read_available(t)
        said = command.output()
        if command.running:
            t.case("%s: ends with ENOMEM" % kind, "Cannot allocate memory" in said, said)
        else:
            t.case("%s: the program is killed" % kind, command.wait().rc == 128 + 9, said)
        t.case("%s: the host keeps its memory" % kind, taken < _MOST,
               "%d MiB of it\n%s" % (taken / _MIB, said))
    finally:
        t.kill(command)


def run(t):
    if not _set_up(t):
        t.skip("a cgroup of 64 MiB", "this kernel does not limit the memory of cgroups")
        return
    t.allow_log(*_KILLED)
    for kind, most in _KINDS.items():
        _check_kind(t, kind, most)
    failures = t.run(t.a, _FAILURE).out
    t.case("no allocation failure is logged", not failures, failures)
