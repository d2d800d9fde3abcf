# SPDX-License-Identifier: GPL-2.0
"""Who posts within the host copies it in his own time, and leaves others theirs."""

import re

LIMIT = 150
PORT = 18515
MESSAGES = 512


def _command(t, options):
    return "ib_write_bw -F -d %s -x %d -s 1048576 %s" % (
        t.dev(t.a), t.gid_index(t.a, t.a.address), options)


def _own_time(t):
    """Lists of 32 MiB, posted at once: no work item has any of it."""
    command = _command(t, "-n %d -l 32 -t 32" % MESSAGES)
    before = [t.counter(t.a, name) for name in ("local_bytes", "work_handoffs")]
    server, client = t.pair_run(command, "%s %s" % (command, t.a.address), port=PORT, timeout=60,
                                at=t.a)
    t.case("lists of long messages within the host", server.rc == 0 and client.rc == 0,
           "exit %d, %d\n%s%s" % (server.rc, client.rc, client.out[-800:], client.err[-800:]))
    moved = [t.counter(t.a, name) - then
             for name, then in zip(("local_bytes", "work_handoffs"), before)]
    t.case("all was copied within the host", moved[0] >= MESSAGES << 20, moved)
    t.case("and by who posted it", not moved[1], moved)


def _ticks(t, pid):
    """What the process has had of the first CPU, which is all that it runs on; and all have."""
    out = t.run(t.a, "cat /proc/%s/stat; grep ^cpu0 /proc/stat" % pid, check=True).out
    its, all_of_them = out.splitlines()
    return (sum(map(int, its.rpartition(")")[2].split()[11:13])),
            sum(map(int, all_of_them.split()[1:8])))


def _beside(t):
    """A process of the same CPU gets its share beside one that always has 256 MiB to be copied."""
    command = "taskset 1 " + _command(t, "-D 60 -l 256 -t 256")
    server = t.start(t.a, command, 100)
    t.wait_port(t.a, PORT)
    client = t.start(t.a, "%s %s" % (command, t.a.address), 100)
    spinner = t.start(t.a, "echo $$; exec taskset 1 sh -c 'while :; do :; done'", 100)
    try:
        t.a.wait_until(t.has_grown(t.a, "local_bytes", 64 << 20), timeout=30)
        pid = re.search(r"\d+", spinner.output()).group(0)
        before, moved = _ticks(t, pid), t.counter(t.a, "local_bytes")
        t.run(t.a, "sleep 5", check=True)
        spun, spent = (now - then for now, then in zip(_ticks(t, pid), before))
        moved = t.counter(t.a, "local_bytes") - moved
        running = server.running and client.running
    finally:
        t.kill(spinner, client, server)
    t.case("there was bulk beside it", running and moved, moved)
    # It has a half. Beside a worker of high priority it is what that leaves between two lists.
    t.case("a process on the same CPU had its share of it", spun >= spent * 3 / 8,
           "%d of %d ticks" % (spun, spent))


def run(t):
    _own_time(t)
    _beside(t)
