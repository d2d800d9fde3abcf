# SPDX-License-Identifier: GPL-2.0
"""`rdma resource show qp` in a loop does not stop local traffic. (A race that takes two CPUs.)"""

LIMIT = 200
PORT = 18515
MESSAGES = 1500


def _check_beside_dumps(t, name, options):
    """Send long messages both ways within guest a, beside a loop that lists the QPs."""
    command = "ib_write_bw -b -F -d %s -x %d -s 1048576 -n %d %s" % (
        t.dev(t.a), t.gid_index(t.a, t.a.address), MESSAGES, options)
    watcher = t.start(t.a, "n=0; while rdma resource show qp >/dev/null; do n=$((n+1)); done", 150)
    before = t.counter(t.a, "local_bytes")
    try:
        server, client = t.pair_run(command, "%s %s" % (command, t.a.address), port=PORT,
                                    timeout=70, at=t.a)
    finally:
        running = watcher.running
        t.kill(watcher)
    t.case(name + ": both programs end", server.rc == 0 and client.rc == 0,
           "exit %d, %d\n%s%s" % (server.rc, client.rc, client.out[-800:], client.err[-800:]))
    moved = t.counter(t.a, "local_bytes") - before
    t.case(name + ": all bytes took the local path", moved >= 2 * MESSAGES << 20, moved)
    t.case(name + ": the loop ran until the end", running)


def run(t):
    _check_beside_dumps(t, "one QP", "")
    _check_beside_dumps(t, "four QPs", "-q 4")
