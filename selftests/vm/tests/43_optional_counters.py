# SPDX-License-Identifier: GPL-2.0
"""`rdma statistic set ... optional-counters`: requests by kind are counted while they are asked for."""

import json

from vmtest import conformance

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 120
_ALL = ("tx_send_requests", "tx_write_requests", "tx_read_requests", "tx_atomic_requests",
        "tx_flush_requests", "tx_local_requests")
# rping's server READs and WRITEs once for each of the client's messages.
_MESSAGES = 50
# Each posts a request that is refused: what counts none, in guest b.
_REFUSED = {
    "tern-tern": ("tx_send_requests", ("Datagram.by_an_address_handle_of_another_pd_fails",
                                       "LOC_LEN_ERR.UD_send_longer_than_the_MTU")),
    "iwarp-iwarp": ("tx_read_requests", ("LOC_QP_OP_ERR.RC_read_without_a_depth",)),
}


def _set(t, names):
    """Turn these on, and the others off."""
    link = t.dev(t.b) + "/1"
    command = "rdma statistic set link %s optional-counters %s" % (link, ",".join(names)) if names \
        else "rdma statistic unset link %s optional-counters" % link
    t.run(t.b, command, check=True)


def _shown(t):
    """The optional counters that are shown."""
    return {name: value for name, value in t.counters(t.b).items() if name in _ALL}


def _ping(t):
    command = "rping -C %d -a %s " % (_MESSAGES, t.b.address)
    server, client = t.pair_run(command + "-s", command + "-c", port="cm")
    t.case("rping ends", server.rc == 0 and client.rc == 0, client.out + client.err)


def _check_choice(t):
    supported = t.run(t.b, "rdma statistic mode supported link %s/1" % t.dev(t.b), check=True).out
    t.case("all are offered", all(name in supported for name in _ALL), supported)
    t.case("none is shown", not _shown(t), str(_shown(t)))
    files = t.run(t.b, "ls " + t.counter_file(t.b, "").rstrip("/"), check=True).out
    t.case("sysfs has none", "tx_packets" in files and "tx_read" not in files, files)
    refused = t.run(t.b, "rdma statistic set link %s/1 optional-counters tx_packets" % t.dev(t.b))
    t.case("others cannot be chosen", refused.rc != 0, refused.out)
    denied = t.run(t.b, "setpriv --reuid 65534 --clear-groups rdma statistic set link %s/1 "
                        "optional-counters tx_read_requests" % t.dev(t.b))
    t.case("only administrators choose", denied.rc != 0, denied.out)


def _check_counts(t):
    some = ("tx_read_requests", "tx_write_requests")
    _set(t, some)
    t.case("those that are on are shown", set(_shown(t)) == set(some), str(_shown(t)))
    before = _shown(t)
    _ping(t)
    after = _shown(t)
    for name in some:
        t.case("each request is counted: " + name, after[name] - before[name] == _MESSAGES,
               "%s\n%s" % (before, after))
    _set(t, ())
    _ping(t)
    _set(t, _ALL)
    t.case("and none while they are off", _shown(t)["tx_read_requests"] == after["tx_read_requests"],
           str(_shown(t)))


def _check_refused(t):
    counter, names = _REFUSED[t.pair]
    _set(t, _ALL)
    before = t.counters(t.b)
    result, _, cases = conformance.run(t, t.b, "--gtest_filter=" + ":".join(names))
    grown = t.counted_since(t.b, before)
    t.case("requests are refused", len(cases) == len(names) and
           all(case.ok and case.skipped is None for case in cases) and
           grown["requests_sent"] >= len(names), result.out)
    t.case("and are not counted as sent: " + counter, not grown[counter] and
           not grown["tx_local_requests"], str(grown))


def _check_sets(t):
    """A set of counters that QPs are bound to."""
    device = t.dev(t.b)
    t.run(t.b, "rdma statistic qp set link %s/1 auto type on" % device, check=True)
    t.undo.append(lambda: t.run(t.b, "rdma statistic qp set link %s/1 auto off" % device, check=True))
    server = t.start(t.b, "rping -C 100000000 -s -a " + t.b.address, 60)
    t.wait_cm_listen(t.b)
    client = t.start(t.a, "rping -C 100000000 -c -a " + t.b.address, 60)
    t.b.wait_until("rdma resource show qp link %s/1 | grep -q 'type RC state RTS'" % device, timeout=10)
    t.b.wait_until(r"rdma -j statistic qp show link %s/1 | grep -q '\"tx_read_requests\": *[1-9]'" % device,
                   timeout=10)
    sets = [entry for entry in json.loads(
        t.run(t.b, "rdma -j statistic qp show link %s/1" % device, check=True).out or "[]") if entry]
    t.case("a set of a QP has them, too", any(entry.get("tx_read_requests") for entry in sets), str(sets))
    t.kill(client, server)


def run(t):
    t.undo = [lambda: _set(t, ())]
    _check_choice(t)
    _check_counts(t)
    _check_refused(t)
    _check_sets(t)
