# SPDX-License-Identifier: GPL-2.0
"""iWARP: a sender dies, and its network namespace; what it was told is sent arrives all the same.

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
    # What is under way when the sender dies must not have arrived before its namespace goes.
    t.run(t.a, netns.UP + "ip netns exec n1 ip link set veth1 gso_max_segs 1", check=True)
    netem.add(t, t.a, "delay %dms loss 5%%" % (200 * t.slow), "veth1", "n1")
    t.run(t.a, netns.links("tern_iwarp"), check=True)
    heir = t.start(t.a, "/tern/vcm inherit", 100)
    t.wait_cm_listen(t.a)
    # Not ip netns exec: counters are in the first namespace's /sys.
    last = t.run(t.a, "nsenter --net=/run/netns/n1 /tern/vcm leave 10.88.0.1; "
                      "ip netns del n1", 60)
    t.note(last.out.splitlines()[0] if last.out else "nothing said")
    sent = re.search(r"\d+ messages", last.out)
    t.case("the sender sends until TCP lags behind, and is killed", sent, last.out + last.err)
    t.finish(heir, 60)
    t.case("all that had completed arrives", sent and heir.output().strip() == sent.group(0),
           "%s\nof %s" % (heir.output(), last.out))
    t.a.wait_until(netns.LINKS_GONE, timeout=20)
    t.case("then the namespace goes, and the links with it", True)
