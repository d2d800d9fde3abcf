# SPDX-License-Identifier: GPL-2.0
"""Both ends in one guest: no packets, also while the switch, addresses and ends come and go."""

from vmtest.lab import LINK

LIMIT = 200
ADDRESS = "10.99.0.1"
# Of what was overtaken or lost.
_SIGNS = ("out_of_sequence", "duplicate_request", "packet_seq_err", "implied_nak_seq_err",
          "ghost_acks", "local_ack_timeout_err", "retransmitted_packets")


def _switch(t, way):
    t.run(t.a, "echo %s >/sys/class/infiniband/%s/local" % (way, t.dev(t.a)), check=True)


def _start(t, seconds, more=""):
    """Mixed traffic, both ways; both processes."""
    return t.tool_start("vverify", "%s -m scale/mixed -S %d -t 20" % (more, seconds), timeout=90,
                        at=t.a, server_args=more)


def _end(t, server, client, name):
    result = client.wait()
    t.finish(server)
    t.take_tap(result, prefix=name + ": ")


def _shown(t):
    """What `rdma resource` says of the QPs' path, and the counters."""
    before = t.counters(t.a)
    server, client = _start(t, 3 * t.slow)
    for _ in range(20):
        t.sleep(0.2 / t.slow)
        shown = t.run(t.a, "rdma -dd resource show qp").out
        if "drv_path local" in shown:
            break
    _end(t, server, client, "shown")
    t.case("rdma resource says path local", "drv_path local" in shown, shown[-600:])
    moved = t.counted_since(t.a, before)
    t.case("messages and bytes are counted as local",
           moved["local_messages"] > 10 and moved["local_bytes"] > 1000, moved)
    t.case("and none went as packet", not moved["tx_packets"] and not moved["rx_packets"], moved)
    t.case("and each was answered at once", not moved["local_ack_timeout_err"], moved)


def _flipped(t):
    before = t.counters(t.a)
    server, client = _start(t, 5)
    flips = t.start(t.a, "cd /sys/class/infiniband/%s; while sleep 0.06; do echo N >local; "
                         "sleep 0.06; echo Y >local; done" % t.dev(t.a), 90)
    _end(t, server, client, "switch flipped")
    t.kill(flips)
    _switch(t, "Y")
    moved = t.counted_since(t.a, before)
    t.case("it went both ways", moved["local_messages"] and moved["tx_packets"], moved)
    t.case("and no request ran out of retries", not moved["retry_exceeded_err"], moved)
    # With several CPUs packets overtake one another on `lo` by themselves.
    if t.run(t.a, "nproc").out.strip() == "1":
        # Who sends before there is a receive WR has what follows dropped, as out of sequence.
        t.case("and nothing was lost or overtaken",
               (moved["rnr_nak_rcvd"] or not moved["out_of_sequence"]) and
               not moved["packet_seq_err"] and not moved["implied_nak_seq_err"], moved)


def _overtakes(t):
    """From packets to none while packets are under way: what is posted then waits for them."""
    if t.run(t.a, "modprobe sch_plug").rc:
        t.skip("turned while packets are under way", "this kernel has no qdisc that keeps packets")
        return
    before = t.counters(t.a)
    t.check_run("turned while requests, then answers, are under way", t.a, "/tern/vturn -n eth0",
                60)
    t.run(t.a, "tc qdisc del dev lo root 2>/dev/null; true")
    _switch(t, "Y")
    moved = t.counted_since(t.a, before)
    t.case("it did turn", moved["tx_packets"] and moved["local_messages"], moved)
    t.case("nothing was overtaken, nothing sent again", not any(moved[name] for name in _SIGNS),
           moved)


def _address_moves(t):
    t.run(t.a, "ip addr add %s/24 dev eth0" % ADDRESS, check=True)
    t.a.wait_until("grep -q ffff:0a63:0001 /sys/class/infiniband/*/ports/1/gids/*", timeout=5)
    server, client = _start(t, 4, "-g %d" % t.gid_index(t.a, ADDRESS))
    for _ in range(3):
        t.sleep(0.8)
        t.run(t.a, "ip addr del %s/24 dev eth0; sleep 0.15; ip addr add %s/24 dev eth0"
              % (ADDRESS, ADDRESS), check=True)
    _end(t, server, client, "address removed and added")
    t.run(t.a, "ip addr del %s/24 dev eth0" % ADDRESS)


def _killed(t):
    server, client = _start(t, 60)
    t.sleep(2)
    t.kill(server)
    t.case("server killed: the client ends too", t.finish(client, 40))


def _link_deleted(t):
    server, client = _start(t, 60)
    t.sleep(2)
    t.check_run("rdma link delete under load", t.a, "rdma link delete " + t.dev(t.a), 30)
    t.case("link deleted: the client ends", t.finish(client, 40))
    t.case("link deleted: the server ends", t.finish(server, 40))
    link, kind = LINK[t.lab.device]
    t.run(t.a, "rdma link add %s type %s netdev eth0" % (link, kind), check=True)
    t.lab.add_link(t.a)


def _raced(t):
    """All in one process: QPs to each other and to themselves, wrecked by other threads."""
    t.check_run("QPs and regions wrecked under traffic", t.a,
                "/tern/vrace -n eth0 -P 4 -S %d" % (4 * t.slow), 60)
    t.check_run("left alone, nothing fails", t.a,
                "/tern/vrace -n eth0 -P 6 -S %d -c 1" % (2 * t.slow), 60)
    t.check_run("nor while the switch is flipped", t.a,
                "cd /sys/class/infiniband/%s; (while sleep 0.05; do echo N >local; sleep 0.05; "
                "echo Y >local; done) & flips=$!; /tern/vrace -n eth0 -P 4 -S %d -c 1; rc=$?; "
                "kill $flips; wait $flips; echo Y >local; exit $rc" % (t.dev(t.a), 3 * t.slow), 60)


def run(t):
    _shown(t)
    _raced(t)
    _flipped(t)
    _overtakes(t)
    _address_moves(t)
    _killed(t)
    _link_deleted(t)
