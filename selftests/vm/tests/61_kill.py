# SPDX-License-Identifier: GPL-2.0
"""kill -9 of either end under load: the other end notices, nothing is left behind."""

LIMIT = 150


def run(t):
    for turn in range(6):
        server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
        t.sleep(2.5 + 0.3 * turn)
        victim, other = (client, server) if turn % 2 else (server, client)
        victim.kill(9)
        victim.wait(timeout=30)
        t.case("the other end ends too (%s killed)" % ("client" if turn % 2 else "server"),
               t.finish(other, 30))
    for tool in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
        server = t.start(t.b, "%s -F -d %s -D 30 -s 65536" % (tool, t.dev(t.b)), 60)
        t.wait_port(t.b, 18515)
        client = t.start(t.a, "%s -F -d %s -D 30 -s 65536 %s" % (tool, t.dev(t.a), t.b.address), 60)
        t.sleep(2)
        client.kill(9)
        server.kill(9)
        client.wait(timeout=30)
        server.wait(timeout=30)
    t.tool("vverify", "-m rc/write -m rc/send", timeout=60, prefix="afterwards: ")
