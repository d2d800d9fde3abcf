# SPDX-License-Identifier: GPL-2.0
"""iWARP: every opcode, size and feature of the verbs with every byte verified; a thousand QPs."""

PAIRS = ("iwarp-iwarp",)
LIMIT = 420

# iWARP has no datagrams, unreliable connections, XRC, path MTUs or PSNs.
_WITHOUT = ("-x 'uc/*' -x 'uc/*/*' -x 'ud/*' -x 'ud/*/*' -x 'xrc/*' -x 'path/mtu-*' "
            "-x 'path/psn-*' -x 'rate/*'")
# A QP has one connection in its life, and a SEND is complete when TCP has it.
_NOT_LOCAL = "-x local/reset-drops -x local/refused-posts"


def run(t):
    for guest in t.guests:
        t.run(guest, "echo 16 >/proc/sys/vm/nr_hugepages")
    t.tool("vverify", _WITHOUT, timeout=200)
    # TCP alone knows the IP version.
    t.tool("vverify", "-m rc/send -m rc/write -m rc/read -m rc/fetch_add -m 'rc/send/*'", timeout=100,
           prefix="ipv6/", host=t.b.address6)
    t.tool("verrors", "-m 'doorbell/*' -m 'rnic/*' -m ring/dead-cq -m 'event/cq-*' "
           "-m placement/reliable-only -m placement/region-rights -m placement/qp-rights "
           "-m rate/not-supported -m 'create/*' -m query/after-an-error "
           "-m 'local/*' " + _NOT_LOCAL, timeout=90)
    t.tool("vverify", "-m scale/qps -N 1000 -t 120", timeout=280, prefix="1000/")
