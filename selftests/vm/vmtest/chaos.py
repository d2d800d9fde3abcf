# SPDX-License-Identifier: GPL-2.0
"""Programs that use all verbs in random order, beside traffic that is verified."""

# Lists all objects, again and again.
_WATCH = ("while rdma link; do for what in qp cq mr pd cm_id ctx srq; do "
         "rdma resource show $what; done; done >/dev/null 2>&1")


def run_beside_traffic(t, players, judge):
    """Run the program `players` in both guests beside verified traffic; judge(guest, result) of each."""
    seconds = t.length(60)
    server, client = t.tool_start("vverify", "-m scale/mixed -S %d -t %d" % (
        seconds - 15, seconds + 40), seconds + 140)
    watchers = [t.start(guest, _WATCH, seconds + 110) for guest in t.guests]
    playing = [t.start(guest, "%s -n eth0 -S %d -s %d" % (players, seconds, seed), seconds + 110)
               for seed, guest in enumerate(t.guests, t.seed())]
    for guest, command in zip(t.guests, playing):
        result = command.wait()
        judge(guest, result)
        t.note(result.out.strip().splitlines()[-1] if result.out.strip() else "no output")
    for guest, watcher in zip(t.guests, watchers):
        t.case("guest %s: objects were listed until the end" % guest.name, watcher.running)
    t.kill(*watchers)
    result = client.wait()
    t.finish(server)
    t.take_tap(result, prefix="traffic beside it: ")
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
