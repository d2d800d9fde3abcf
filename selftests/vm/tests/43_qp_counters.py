# SPDX-License-Identifier: GPL-2.0
"""`rdma statistic qp`: counters of single QPs and of all of a type, and the port's sum of them."""

import json
import re

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 200
_SUMMED = ("requests_sent", "tx_packets", "rx_packets", "tx_bytes", "rx_send_requests")


def _port(t, device):
    """The port's counters, as rdma and sysfs show them."""
    out = t.run(t.a, "rdma -j statistic show link %s/1" % device, check=True).out
    return json.loads(out)[0]


def _sets(t, device):
    """The sets of QPs: [{cntn, lqpn, counters}]."""
    out = t.run(t.a, "rdma -j statistic qp show link %s/1" % device, check=True).out
    return [entry for entry in json.loads(out or "[]") if entry]


def _qps(t, device):
    """Numbers of the connected QPs."""
    out = t.run(t.a, "rdma resource show qp link %s/1" % device, check=True).out
    return [int(n) for n in re.findall(r"lqpn (\d+) .*?type RC state RTS", out)]


class _Traffic:
    """rping to the other guest, until stop()."""

    def __init__(self, t, device):
        self._t = t
        command = "exec rping -C 100000000 -S 4096 -a %s " % t.b.address
        self._server = t.start(t.b, command + "-s", 100)
        t.b.wait_until("rdma resource show cm_id | grep -q LISTEN", timeout=10)
        self._client = t.start(t.a, command + "-c", 100)
        t.a.wait_until("rdma resource show qp link %s/1 | grep -q 'type RC state RTS'" % device,
                       timeout=10)

    def stop(self):
        for command in (self._client, self._server):
            command.kill(9)
            command.wait(timeout=30)


def _never_falls(t, what, before, after):
    less = ["%s: %d, then %d" % (name, before[name], after[name]) for name in _SUMMED
            if after[name] < before[name]]
    t.case("the port's counters go on " + what, not less, "\n".join(less))


def _check_manual(t, device):
    traffic = _Traffic(t, device)
    qpn = _qps(t, device)[0]
    before = _port(t, device)
    t.check_run("a QP is bound", t.a, "rdma statistic qp bind link %s/1 lqpn %d" % (device, qpn))
    t.case("and not twice", t.run(t.a, "rdma statistic qp bind link %s/1 lqpn %d" % (device, qpn)).rc)
    first = _sets(t, device)
    t.sleep(1)
    second = _sets(t, device)
    t.case("there is one set, with that QP", len(second) == 1 and qpn in second[0]["lqpn"], second)
    t.case("it counts", all(second[0][name] > first[0][name] for name in _SUMMED),
           "%s\n%s" % (first, second))
    after = _port(t, device)
    _never_falls(t, "while it is bound", before, after)
    t.case("the port counts what the QP does", after["requests_sent"] >=
           before["requests_sent"] + second[0]["requests_sent"] - first[0]["requests_sent"],
           "%s\n%s" % (before, after))
    t.check_run("it is unbound", t.a, "rdma statistic qp unbind link %s/1 cntn %d lqpn %d"
                % (device, second[0]["cntn"], qpn))
    t.case("then there is no set", not _sets(t, device))
    unbound = _port(t, device)
    _never_falls(t, "after that", after, unbound)
    # Bound again, and destroyed so.
    t.check_run("it is bound again", t.a, "rdma statistic qp bind link %s/1 lqpn %d" % (device, qpn))
    t.sleep(0.5)
    bound = _port(t, device)
    traffic.stop()
    t.a.wait_until("! rdma resource show qp link %s/1 | grep -q 'lqpn %d '" % (device, qpn), timeout=20)
    t.case("the set ends with its QP", not _sets(t, device))
    end = _port(t, device)
    _never_falls(t, "after the QP's end", bound, end)
    read = t.run(t.a, "cd /sys/class/infiniband/%s/ports/1; cat hw_counters/tx_packets "
                      "counters/port_xmit_packets" % device, check=True).out.split()
    t.case("InfiniBand's counters have the same sum", abs(int(read[0]) - int(read[1])) < 16, read)


def _check_auto(t, device):
    t.check_run("sets by type", t.a, "rdma statistic qp set link %s/1 auto type on" % device)
    try:
        traffic = _Traffic(t, device)
        sets = [entry for entry in _sets(t, device) if entry.get("qp-type", "RC") == "RC"]
        t.case("a set for RC", len(sets) == 1 and set(_qps(t, device)) <= set(sets[0]["lqpn"]), sets)
        t.sleep(0.5)
        again = _sets(t, device)[0]
        t.case("it counts, too", again["requests_sent"] > sets[0]["requests_sent"], again)
        before = _port(t, device)
        traffic.stop()
        t.sleep(1)
        _never_falls(t, "after the end of all", before, _port(t, device))
    finally:
        t.run(t.a, "rdma statistic qp set link %s/1 auto off" % device, check=True)


_LOOP = r"""for i in $(seq 20); do
    rdma statistic qp bind link {0}/1 lqpn {1} || exit
    set=$(rdma statistic qp show link {0}/1 | sed -n 's/.* cntn \([0-9]*\) .*/\1/p')
    rdma statistic qp unbind link {0}/1 cntn $set lqpn {1} || exit
done"""


def _check_loop(t, device):
    traffic = _Traffic(t, device)
    before = _port(t, device)
    t.check_run("bound and unbound, again and again", t.a,
                _LOOP.format(device, _qps(t, device)[0]), 60)
    after = _port(t, device)
    _never_falls(t, "meanwhile", before, after)
    t.case("and traffic goes on", after["requests_sent"] > before["requests_sent"])
    traffic.stop()


def _check_end(t, device):
    """QPs end, and so does the link, while they are bound."""
    t.run(t.a, "rdma statistic qp set link %s/1 auto type,pid on" % device, check=True)
    traffic = _Traffic(t, device)
    t.case("a set of a program", len(_sets(t, device)) == 1)
    t.check_run("the link goes with a QP that is bound", t.a, "rdma link delete " + device, 60)
    traffic.stop()
    t.lab.add_link(t.a, t.lab.driver_of(t.pair, "a"))


def run(t):
    if not t.is_tern:
        t.skip("rdma statistic qp", "it is tern's")
        return
    device = t.dev(t.a)
    _check_manual(t, device)
    _check_loop(t, device)
    _check_auto(t, device)
    _check_end(t, device)
