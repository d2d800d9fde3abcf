# SPDX-License-Identifier: GPL-2.0
"""iWARP: the peer closes its half of the connection; our half ends in order, and in time."""

import re

from vmtest import netns

PAIRS = ("iwarp-iwarp",)
LIMIT = 250

_PORT = 7490
_FILE = "/tmp/half"
_NETDEV = "veth0"
# Longer than the stall that leads to a reset, so that the test sees the timeout and not that.
_PEER_TIMEOUT_S = 15
_CRC = "/sys/module/tern/parameters/iwarp_crc"


def _start_ends(t, how, word):
    """Start vhalf.py with `how`, and vcm with `word`; returns (server, client)."""
    t.run(t.b, "rm -f " + _FILE)
    server = t.start(t.b, "exec python3 /tern/vhalf.py %s %d %s %s" % (t.b.address, _PORT, _FILE,
                                                                      how), 120)
    t.wait_port(t.b, _PORT, 60)
    client = t.start(t.a, "/tern/vcm %s %s" % (word, t.b.address), 120)
    return server, client


def _check_completed(t):
    """All that has completed is sent, even if TCP had no room for it when the FIN came."""
    server, client = _start_ends(t, "read", "send-until-full")
    client.wait_for("messages", 60)
    t.run(t.b, "touch " + _FILE, check=True)
    t.finish(server, 60)
    t.finish(client, 60)
    sent, came = (re.search(r"(\d+) messages", end.output()) for end in (client, server))
    t.case("more has completed than TCP has sent", "TCP lacks" in client.output(), client.output())
    t.case("all that has completed arrives after the FIN",
           sent and came and int(came.group(1)) >= int(sent.group(1)),
           client.output() + server.output())
    t.case("then our FIN arrives", "FIN" in server.output(), server.output())
    t.case("the program gets the event", "DISCONNECTED" in client.output(), client.output())


def _check_zerocopy(t):
    """A peer that has closed its half and reads nothing does not hold zero-copy memory.

    The peer is in a namespace of guest a, as in iwarp_zerocopy: eth0 of emulated guests has no
    scatter/gather, so there is no zero-copy.
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
    client = t.start(t.a, "/tern/vcm send-long " + netns.FAR, 120)
    client.wait_for("posted", 60)
    server.wait_for("mute", 60)
    t.sleep(1)
    lent = t.counter(t.a, "tx_zerocopy_bytes", _NETDEV) - before
    t.run(t.a, "touch " + _FILE, check=True)
    t.finish(client, 100)
    t.note("%d bytes of zero-copy; %s" % (lent, ", ".join(client.output().split("\n"))))
    t.case("zero-copy is used", lent)
    t.case("zero-copy: all that was posted is flushed", "flushed" in client.output(),
           client.output())
    t.case("zero-copy: the program gets the event", "DISCONNECTED" in client.output(),
           client.output())
    t.kill(server)
    t.undo_now()


def _check_trickle(t):
    """A peer that has closed its half and reads little at a time is given up at some point."""
    file = "/sys/class/infiniband/%s/peer_timeout" % t.dev(t.a)
    usual = t.run(t.a, "cat " + file, check=True).out.strip()
    t.undo = [lambda: t.run(t.a, "echo %s >%s" % (usual, file))]
    t.run(t.a, "echo %d >%s" % (_PEER_TIMEOUT_S, file), check=True)
    # vcm posts 8 MiB.
    server, client = _start_ends(t, "trickle", "send-long")
    client.wait_for("posted", 60)
    t.run(t.b, "touch " + _FILE, check=True)
    t.finish(client, 100)
    t.case("a peer that reads slowly after its FIN: what it does not read is flushed",
           re.search(r" [1-9]\d* flushed", client.output()), client.output())
    t.case("a peer that reads slowly: the program gets the event",
           "DISCONNECTED" in client.output(), client.output())
    t.finish(server, 60)
    t.case("the peer sees a reset", "RST" in server.output(), server.output())
    t.undo_now()


def run(t):
    _check_completed(t)
    _check_trickle(t)
    _check_zerocopy(t)
