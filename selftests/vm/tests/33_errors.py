# SPDX-License-Identifier: GPL-2.0
"""Each error gives exactly its status, event or errno; the QP state machine."""

LIMIT = 240


def run(t):
    t.tool("verrors", "-t 10 -x 'rnic/*'", timeout=220)
    server = t.start(t.a, "/tern/verrors -n eth0", 100)
    t.wait_port(t.a, 18600)
    result = t.run(t.a, "/tern/verrors -n eth0 -t 10 -m 'remote/*' -m 'local/*' " + t.a.address,
                   100)
    t.finish(server)
    t.take_tap(result, prefix="one-guest/")
