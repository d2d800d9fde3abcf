# SPDX-License-Identifier: GPL-2.0
"""A hundred processes create and destroy everything for a minute, some killed, under traffic."""

PAIRS = ("tt", "ww")
LONG_PAIRS = ("ww",)
LIMIT = 280


def run(t):
    server, client = t.tool_start("vverify", "-m scale/mixed -S 45 -t 100", 200)
    chaos = [t.start(guest, "/tern/vchaos -n eth0 -P 100 -S 60 -s %d" % seed, 170)
             for seed, guest in enumerate(t.guests)]
    for guest, command in zip(t.guests, chaos):
        result = command.wait()
        t.case("guest %s: no process crashes, hangs or gives up" % guest.name,
               result.rc == 0 and " 0 gave up" in result.out,
               result.out[-2500:] + result.err[-500:])
        t.note(result.out.strip().splitlines()[-1] if result.out.strip() else "no output")
    result = client.wait()
    t.finish(server)
    t.take_tap(result, prefix="traffic beside it: ")
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
