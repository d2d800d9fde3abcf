# SPDX-License-Identifier: GPL-2.0
"""iWARP: a sender is killed, and its network namespace ends; all that had completed still arrives.

    init namespace: the receiver        namespace n1, in the same guest: the sender
    veth0 10.88.0.1 ------------------- veth1 10.88.0.2, a slow and lossy wire
"""

import re

from vmtest import netem, netns

PAIRS = ("iwarp-iwarp",)
LONG = True
LIMIT = 120


def run(t):
    t.undo = [lambda: t.run(t.a, netns.DOWN)]
    # Data in flight when the sender is killed must not arrive before its namespace ends.
    t.run(t.a, netns.UP + "ip netns exec n1 ip link set veth1 gso_max_segs 1", check=True)
    netem.add(t, t.a, "delay %dms loss 5%%" % (200 * t.slow), "veth1", "n1")
    t.run(t.a, netns.links("tern_iwarp"), check=True)
    receiver = t.start(t.a, "/tern/vcm receive", 100)
    t.wait_cm_listen(t.a)
    # Not ip netns exec: counters are in the /sys of the first namespace.
    last = t.run(t.a, "nsenter --net=/run/netns/n1 /tern/vcm send-and-die 10.88.0.1; "
                      "ip netns del n1", 60)
    t.note(last.out.splitlines()[0] if last.out else "no output")
    sent = re.search(r"\d+ messages", last.out)
    t.case("the sender sends until TCP lags behind, and is killed", sent, last.out + last.err)
    t.finish(receiver, 60)
    t.case("all that had completed arrives", sent and receiver.output().strip() == sent.group(0),
           "%s\nof %s" % (receiver.output(), last.out))
    t.a.wait_until(netns.LINKS_GONE, timeout=20)
    t.case("then the namespace ends, and the links with it", True)
