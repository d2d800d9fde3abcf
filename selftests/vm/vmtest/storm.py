# SPDX-License-Identifier: GPL-2.0
"""32 processes that connect, exchange a message and disconnect, back to back."""

import re


def run_storm(t, seconds, is_case=True):
    """Returns the connections a second, or None if one failed.

    With is_case, that is a case. Without, a peer's failure is only noted.
    """
    server = t.start(t.b, "exec /tern/vstorm", seconds + 60)
    t.wait_cm_listen(t.b)
    result = t.run(t.a, "/tern/vstorm -P 32 -S %d %s" % (seconds, t.b.address), seconds + 60)
    server.kill(15)
    ended = server.wait(timeout=30)
    found = re.search(r"([\d.]+) a second", result.out)
    ok = result.rc == 0 and ended.rc == 0 and found
    if is_case:
        t.case("%s: connections for %d s" % (t.dev(t.a), seconds), ok, "client exit %d: %s%s\n"
               "server exit %d: %s%s" % (result.rc, result.out, result.err, ended.rc, ended.out,
                                         ended.err))
    if found:
        t.note("%s: %s" % (t.dev(t.a), result.out.strip().splitlines()[0]))
    return float(found.group(1)) if ok else None
