# SPDX-License-Identifier: GPL-2.0
"""Packets to unreachable peers wait for neighbour discovery, and do not hold up other QPs.

Guest a sends into a namespace of it, by a veth pair. Addresses that QPs send to are removed there.
The kernel sends a hundred ARP requests for each, which takes longer than the test.
"""

import ipaddress

from vmtest import netns

LIMIT = 180

# The stack keeps 208 KiB for each neighbour (unres_qlen_bytes). A device without queues may have
# 512 KiB in the stack for each CPU (ROCE_GATE_QUEUE_BYTES).
_DEAD_A_CPU = 3
_FIRST = ipaddress.ip_address("10.88.1.1")
_READY = "/tmp/dead-ready"

_UP = netns.UP + """
ip route add 10.88.0.0/16 dev veth0 src 10.88.0.1
echo 100 >/proc/sys/net/ipv4/neigh/veth0/mcast_solicit
for a in %s; do ip -n n1 addr add $a/32 dev veth1; done
"""
_DIE = """set -e
for a in %s; do ip -n n1 addr del $a/32 dev veth1; done
ip neigh flush dev veth0
rm """ + _READY
_DOWN = "pkill -9 vverify; pkill -9 vunreachable; rm -f %s; %s" % (_READY, netns.DOWN)
_WAITING = "[ $(ip neigh show dev veth0 | grep -c INCOMPLETE) = %d ]"


def run(t):
    if not t.is_tern:
        t.skip("unreachable peers", "only tern has a gate")
        return
    many = _DEAD_A_CPU * int(t.run(t.a, "nproc", check=True).out)
    addresses = " ".join(str(_FIRST + i) for i in range(many))
    waiting = _WAITING % many
    t.undo = [lambda: t.run(t.a, _DOWN)]
    t.run(t.a, _UP % addresses, check=True)
    netns.add_links(t, "tern_roce")
    server = netns.start_server(t, timeout=150)
    # With known neighbours vunreachable connects at once.
    t.run(t.a, "for a in %s; do ping -c 1 -w 10 $a & done; wait" % addresses, check=True)
    dead = t.start(t.a, "/tern/vunreachable -d nsa -a %s -m %d -r %s" % (_FIRST, many, _READY), 150)
    t.a.wait_until("[ -e %s ]" % _READY, timeout=60)
    t.run(t.a, _DIE % addresses, check=True)
    t.a.wait_until(waiting, timeout=10)
    result = t.run(t.a, "/tern/vverify -d nsa -m scale/bulk -N 4 -S 4 -t 30 " + netns.FAR, 100)
    still = t.run(t.a, waiting)
    t.take_tap(result, "other QPs: ")
    t.case("the peers were still being looked for at the end", still.rc == 0, still)
    t.run(t.a, "pkill -9 vunreachable")
    dead.wait()
    t.finish(server)
