# SPDX-License-Identifier: GPL-2.0
"""Both processes in one guest: the same cases over the same-stack way."""

LIMIT = 240


def run(t):
    server = t.start(t.a, "/tern/vverify -n eth0", 220)
    t.wait_port(t.a, 18600)
    result = t.run(t.a, "/tern/vverify -n eth0 -m 'rc/*' -m 'uc/*' -m 'ud/*' -m 'rc/*/both-ways' "
                        "-m 'mr/*' -m 'mw/*' -m 'srq/*' -m 'cq/*' " + t.a.address, 220)
    t.finish(server)
    t.take_tap(result)
