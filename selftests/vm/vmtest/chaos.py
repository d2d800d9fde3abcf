# SPDX-License-Identifier: GPL-2.0
"""Programs that make use of everything in random order, beside others that want their work done."""

# Somebody who looks at all that there is, all the time.
_WATCH = ("while rdma link; do for what in qp cq mr pd cm_id ctx srq; do "
         "rdma resource show $what; done; done >/dev/null 2>&1")


def beside(t, players, judge):
    """Traffic that is verified beside this program in both guests: judge(guest, its result)."""
    seconds = t.length(60)
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t %d" % (
        seconds - 15, seconds + 40), seconds + 140)
    watchers = [t.start(guest, _WATCH, seconds + 110) for guest in t.guests]
    playing = [t.start(guest, "%s -n eth0 -S %d -s %d" % (players, seconds, seed), seconds + 110)
               for seed, guest in enumerate(t.guests)]
    for guest, command in zip(t.guests, playing):
        result = command.wait()
        judge(guest, result)
        t.note(result.out.strip().splitlines()[-1] if result.out.strip() else "no output")
    for guest, watcher in zip(t.guests, watchers):
        t.case("guest %s: somebody looked all the while" % guest.name, watcher.running)
    t.kill(*watchers)
    result = client.wait()
    t.finish(server)
    t.take_tap(result, prefix="traffic beside it: ")
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
