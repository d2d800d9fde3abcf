# SPDX-License-Identifier: GPL-2.0
"""The local path, both ends in one guest: its counters; its switch, addresses and ends change."""

from vmtest.lab import LINK

LIMIT = 200
ADDRESS = "10.99.0.1"
# Counters that grow if requests overtake each other or are lost.
_SIGNS = ("out_of_sequence", "duplicate_request", "packet_seq_err", "implied_nak_seq_err",
          "ghost_acks", "local_ack_timeout_err", "retransmitted_packets")


def _set_local(t, way):
    t.run(t.a, "echo %s >/sys/class/infiniband/%s/local" % (way, t.dev(t.a)), check=True)


def _start_traffic(t, seconds, more=""):
    """Start mixed traffic both ways; returns (server, client)."""
    return t.tool_start("vverify", "%s -m scale/mixed -S %d -t 20" % (more, seconds), timeout=90,
                        at=t.a, server_args=more)


def _end_traffic(t, server, client, name):
    result = client.wait()
    t.finish(server)
    t.take_tap(result, prefix=name + ": ")


def _check_shown(t):
    """`rdma resource` names the QPs' path, and the counters agree."""
    before = t.counters(t.a)
    server, client = _start_traffic(t, 3 * t.slow)
    for _ in range(20):
        t.sleep(0.2 / t.slow)
        shown = t.run(t.a, "rdma -dd resource show qp").out
        if "drv_path local" in shown:
            break
    _end_traffic(t, server, client, "local path")
    t.case("rdma resource shows path local", "drv_path local" in shown, shown[-600:])
    moved = t.counted_since(t.a, before)
    t.case("messages and bytes are counted as local",
           moved["local_messages"] > 10 and moved["local_bytes"] > 1000, moved)
    t.case("no message went as packets", not moved["tx_packets"] and not moved["rx_packets"], moved)
    t.case("no ACK timer expired", not moved["local_ack_timeout_err"], moved)


def _check_flips(t):
    before = t.counters(t.a)
    server, client = _start_traffic(t, 5)
    flips = t.start(t.a, "cd /sys/class/infiniband/%s; while sleep 0.06; do echo N >local; "
                         "sleep 0.06; echo Y >local; done" % t.dev(t.a), 90)
    _end_traffic(t, server, client, "switch flipped")
    t.kill(flips)
    _set_local(t, "Y")
    moved = t.counted_since(t.a, before)
    t.case("traffic took both paths", moved["local_messages"] and moved["tx_packets"], moved)
    t.case("no request ran out of retries", not moved["retry_exceeded_err"], moved)
    # With several CPUs packets on `lo` overtake each other in any case.
    if t.run(t.a, "nproc").out.strip() == "1":
        # After an RNR NAK the requests behind it are dropped as out of sequence.
        t.case("nothing was lost or reordered",
               (moved["rnr_nak_rcvd"] or not moved["out_of_sequence"]) and
               not moved["packet_seq_err"] and not moved["implied_nak_seq_err"], moved)


def _check_order(t):
    """A switch to the local path while packets are in flight: later requests wait for these."""
    if t.run(t.a, "modprobe sch_plug").rc:
        t.skip("path switch with packets in flight", "this kernel has no sch_plug")
        return
    before = t.counters(t.a)
    t.check_run("path switch with requests, then responses, in flight", t.a,
                "/tern/vpathswitch -n eth0", 60)
    t.run(t.a, "tc qdisc del dev lo root 2>/dev/null; true")
    _set_local(t, "Y")
    moved = t.counted_since(t.a, before)
    t.case("both paths were used", moved["tx_packets"] and moved["local_messages"], moved)
    t.case("nothing was reordered or retransmitted", not any(moved[name] for name in _SIGNS),
           moved)


def _check_address_change(t):
    t.run(t.a, "ip addr add %s/24 dev eth0" % ADDRESS, check=True)
    t.wait_gid(t.a, ADDRESS)
    server, client = _start_traffic(t, 4, "-g %d" % t.gid_index(t.a, ADDRESS))
    for _ in range(3):
        t.sleep(0.8)
        t.run(t.a, "ip addr del %s/24 dev eth0; sleep 0.15; ip addr add %s/24 dev eth0"
              % (ADDRESS, ADDRESS), check=True)
    _end_traffic(t, server, client, "address removed and added")
    t.run(t.a, "ip addr del %s/24 dev eth0" % ADDRESS)


def _check_kill(t):
    server, client = _start_traffic(t, 60)
    t.sleep(2)
    t.kill(server)
    t.case("server killed: the client ends too", t.finish(client, 40))


def _check_link_delete(t):
    server, client = _start_traffic(t, 60)
    t.sleep(2)
    t.check_run("rdma link delete under load", t.a, "rdma link delete " + t.dev(t.a), 30)
    t.case("link deleted: the client ends", t.finish(client, 40))
    t.case("link deleted: the server ends", t.finish(server, 40))
    link, kind = LINK[t.lab.device]
    t.run(t.a, "rdma link add %s type %s netdev eth0" % (link, kind), check=True)
    t.lab.add_link(t.a)


def _check_races(t):
    """QPs of one process send to each other and to themselves while threads destroy them."""
    t.check_run("QPs and regions destroyed under traffic", t.a,
                "/tern/vrace -n eth0 -P 4 -S %d" % (4 * t.slow), 60)
    t.check_run("the same traffic undisturbed", t.a,
                "/tern/vrace -n eth0 -P 6 -S %d -c 1" % (2 * t.slow), 60)
    t.check_run("the same while the switch is flipped", t.a,
                "cd /sys/class/infiniband/%s; (while sleep 0.05; do echo N >local; sleep 0.05; "
                "echo Y >local; done) & flips=$!; /tern/vrace -n eth0 -P 4 -S %d -c 1; rc=$?; "
                "kill $flips; wait $flips; echo Y >local; exit $rc" % (t.dev(t.a), 3 * t.slow), 60)


def run(t):
    _check_shown(t)
    _check_races(t)
    _check_flips(t)
    _check_order(t)
    _check_address_change(t)
    _check_kill(t)
    _check_link_delete(t)
