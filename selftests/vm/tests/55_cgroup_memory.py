# SPDX-License-Identifier: GPL-2.0
"""What a program makes is charged to its cgroup: one of nobody's gets no more than that has."""

import re

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 200

_MIB = 1 << 20
_LIMIT = 64 * _MIB
# What the host has less may be this: the cgroup's, and of what ib_core and others take beside it,
# which nobody is charged for, as much again.
_MOST = 2 * _LIMIT
_TOP = "/sys/fs/cgroup"
_GROUP = _TOP + "/hoard"
# Of each kind so many that uncharged they would take three times the limit, and more if they are small.
_KINDS = {"cq": 48, "srq": 42, "qp": 60, "small-qp": 30000, "empty-mr": 400000, "mw": 400000}
# The kernel kills who is in the way of others in its cgroup, and says so.
_KILLED = (r"Call Trace", r"Memory cgroup out of memory")
# What the kernel says when it has no memory for a table.
_FAILURE = r"dmesg | grep -E 'vmalloc error|allocation failure|SLUB: Unable'"


def _set_up(t):
    """False: the kernel cannot do it."""
    if not t.run(t.a, "grep -qw memory %s/cgroup.controllers" % _TOP).ok:
        return False
    t.undo.append(lambda: t.a.run("rmdir %s; true" % _GROUP))
    t.run(t.a, "echo +memory >{0}/cgroup.subtree_control; mkdir -p {1}; echo {2} >{1}/memory.max; "
               "[ ! -e {1}/memory.swap.max ] || echo 0 >{1}/memory.swap.max".format(
                   _TOP, _GROUP, _LIMIT), check=True)
    return True


def _available(t):
    """Bytes that the host could give."""
    out = t.run(t.a, "echo 3 >/proc/sys/vm/drop_caches; cat /proc/meminfo", check=True).out
    return int(re.search(r"MemAvailable: *(\d+)", out).group(1)) * 1024


def _hoard(t, kind, most):
    before = _available(t)
    command = t.start(t.a, "echo $$ >%s/cgroup.procs && exec setpriv --reuid=65534 --regid=65534 "
                      "--clear-groups --inh-caps=-all /tern/vhoard -n eth0 -k %s -m %d"
                      % (_GROUP, kind, most), 100)
    try:
        while command.running and "\n" not in command.output():
            t.sleep(0.1)
        taken = before - _available(t)
        said = command.output()
        if command.running:
            t.case("%s: there is an end" % kind, "Cannot allocate memory" in said, said)
        else:
            t.case("%s: it is killed" % kind, command.wait().rc == 128 + 9, said)
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
        _hoard(t, kind, most)
    failures = t.run(t.a, _FAILURE).out
    t.case("nothing is said of it", not failures, failures)
