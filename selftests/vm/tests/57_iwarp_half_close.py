# SPDX-License-Identifier: GPL-2.0
"""iWARP: the peer closes its half of the connection; ours ends in order, and in time."""

import re

from vmtest import netns

PAIRS = ("iwarp-iwarp",)
LIMIT = 250

_PORT = 7490
_FILE = "/tmp/half"
_NETDEV = "veth0"
# More than what nothing goes on for before there is a reset, so that this is not what is seen.
_PEER_TIMEOUT_S = 15
_CRC = "/sys/module/tern/parameters/iwarp_crc"


def _connect(t, how, word):
    """A client that is connected and has posted, as the words say."""
    t.run(t.b, "rm -f " + _FILE)
    server = t.start(t.b, "exec python3 /tern/vhalf.py %s %d %s %s" % (t.b.address, _PORT, _FILE,
                                                                      how), 120)
    t.wait_port(t.b, _PORT, 60)
    client = t.start(t.a, "/tern/vcm %s %s" % (word, t.b.address), 120)
    return server, client


def _completed(t):
    """What has completed is sent, be TCP without room for it when the FIN comes."""
    server, client = _connect(t, "read", "stay")
    client.wait_for("messages", 60)
    t.run(t.b, "touch " + _FILE, check=True)
    t.finish(server, 60)
    t.finish(client, 60)
    sent, came = (re.search(r"(\d+) messages", end.output()) for end in (client, server))
    t.case("TCP lacks some that has completed", "TCP lacks" in client.output(), client.output())
    t.case("all that has completed comes after the FIN",
           sent and came and int(came.group(1)) >= int(sent.group(1)),
           client.output() + server.output())
    t.case("then our FIN", "FIN" in server.output(), server.output())
    t.case("and the program hears of the end", "DISCONNECTED" in client.output(), client.output())


def _lent(t):
    """A peer that has closed its half and reads nothing keeps no memory that TCP was lent.

    It is in a namespace of guest a, as in iwarp_zerocopy: emulated guests' eth0 has no scatter/gather,
    so nothing is lent to it.
    """
    usual = t.run(t.a, "cat " + _CRC, check=True).out.strip()
    t.undo = [lambda: t.run(t.a, netns.DOWN), lambda: t.run(t.a, "echo %s >%s" % (usual, _CRC))]
    t.run(t.a, "echo N >" + _CRC, check=True)
    t.run(t.a, netns.UP + netns.XDP, check=True)
    netns.add_links(t, "tern_iwarp")
    t.run(t.a, "ping -q -c 1 -W 5 " + netns.FAR, check=True)
    before = t.counter(t.a, "tx_zerocopy_bytes", _NETDEV)
    t.run(t.a, "rm -f " + _FILE)
    server = t.start(t.a, "exec ip netns exec n1 python3 /tern/vhalf.py %s %d %s mute"
                     % (netns.FAR, _PORT, _FILE), 120)
    t.wait_port(t.a, _PORT, 60, netns="n1")
    client = t.start(t.a, "/tern/vcm lend " + netns.FAR, 120)
    client.wait_for("posted", 60)
    server.wait_for("mute", 60)
    t.sleep(1)
    lent = t.counter(t.a, "tx_zerocopy_bytes", _NETDEV) - before
    t.run(t.a, "touch " + _FILE, check=True)
    t.finish(client, 100)
    t.note("%d bytes lent; %s" % (lent, ", ".join(client.output().split("\n"))))
    t.case("memory is lent", lent)
    t.case("all that was posted comes back", "flushed" in client.output(), client.output())
    t.case("and the program hears of the end of that, too", "DISCONNECTED" in client.output(),
           client.output())
    t.kill(server)
    t.undo_now()


def _trickled(t):
    """A peer that has closed its half and takes a little at a time does not keep us for ever."""
    file = "/sys/class/infiniband/%s/peer_timeout" % t.dev(t.a)
    usual = t.run(t.a, "cat " + file, check=True).out.strip()
    t.undo = [lambda: t.run(t.a, "echo %s >%s" % (usual, file))]
    t.run(t.a, "echo %d >%s" % (_PEER_TIMEOUT_S, file), check=True)
    # vcm posts 8 MiB.
    server, client = _connect(t, "trickle", "lend")
    client.wait_for("posted", 60)
    t.run(t.b, "touch " + _FILE, check=True)
    t.finish(client, 100)
    t.case("a peer that trickles after its FIN: what it does not take comes back",
           re.search(r" [1-9]\d* flushed", client.output()), client.output())
    t.case("and the program hears of the end of a trickle",
           "DISCONNECTED" in client.output(), client.output())
    t.finish(server, 60)
    t.case("the peer sees a reset", "RST" in server.output(), server.output())
    t.undo_now()


def run(t):
    _completed(t)
    _trickled(t)
    _lent(t)
