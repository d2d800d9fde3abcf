# SPDX-License-Identifier: GPL-2.0
"""Local traffic is copied in the CPU time of the program that posts, which takes no more than its share."""

import re

LIMIT = 150
PORT = 18515
MESSAGES = 512


def _make_command(t, options):
    return "ib_write_bw -F -d %s -x %d -s 1048576 %s" % (
        t.dev(t.a), t.gid_index(t.a, t.a.address), options)


def _check_no_handoffs(t):
    """Lists of 32 MiB, each in one post: no work item copies any of it."""
    command = _make_command(t, "-n %d -l 32 -t 32" % MESSAGES)
    before = [t.counter(t.a, name) for name in ("local_bytes", "work_handoffs")]
    server, client = t.pair_run(command, "%s %s" % (command, t.a.address), port=PORT, timeout=60,
                                at=t.a)
    t.case("lists of long messages by the local path", server.rc == 0 and client.rc == 0,
           "exit %d, %d\n%s%s" % (server.rc, client.rc, client.out[-800:], client.err[-800:]))
    moved = [t.counter(t.a, name) - then
             for name, then in zip(("local_bytes", "work_handoffs"), before)]
    t.case("all bytes took the local path", moved[0] >= MESSAGES << 20, moved)
    t.case("no work item ran", not moved[1], moved)


def _read_ticks(t, pid):
    """Ticks of the process, which runs on the first CPU only, and all ticks of that CPU."""
    out = t.run(t.a, "cat /proc/%s/stat; grep ^cpu0 /proc/stat" % pid, check=True).out
    process, cpu = out.splitlines()
    return (sum(map(int, process.rpartition(")")[2].split()[11:13])),
            sum(map(int, cpu.split()[1:8])))


def _check_cpu_share(t):
    """A process gets its share of a CPU beside one that always has 256 MiB to copy."""
    command = "taskset 1 " + _make_command(t, "-D 60 -l 256 -t 256")
    server = t.start(t.a, command, 100)
    t.wait_port(t.a, PORT)
    client = t.start(t.a, "%s %s" % (command, t.a.address), 100)
    spinner = t.start(t.a, "echo $$; exec taskset 1 sh -c 'while :; do :; done'", 100)
    try:
        t.a.wait_until(t.has_grown(t.a, "local_bytes", 64 << 20), timeout=30)
        pid = re.search(r"\d+", spinner.output()).group(0)
        before, moved = _read_ticks(t, pid), t.counter(t.a, "local_bytes")
        t.run(t.a, "sleep 5", check=True)
        spun, spent = (now - then for now, then in zip(_read_ticks(t, pid), before))
        moved = t.counter(t.a, "local_bytes") - moved
        running = server.running and client.running
    finally:
        t.kill(spinner, client, server)
    t.case("bulk traffic ran beside it", running and moved, moved)
    # Its share is a half. A worker of high priority would leave it only the time between two lists.
    t.case("a process on the same CPU had its share", spun >= spent * 3 / 8,
           "%d of %d ticks" % (spun, spent))


def run(t):
    _check_no_handoffs(t)
    _check_cpu_share(t)
