# SPDX-License-Identifier: GPL-2.0
"""Trace events: off by default; on, each says what was provoked, with the right fields."""

import re

from vmtest import netem

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300
_TRACING = "/sys/kernel/tracing"
_SETUP = "mountpoint -q {0} || mount -t tracefs nodev {0}; echo 8192 >{0}/buffer_size_kb; " \
         "cat {0}/events/tern/enable"
# IP and UDP as the program's; a BTH of an opcode, for QP 0x123456; an ICRC that is wrong.
_JUNK = r"printf '\004\000\377\377\000\022\064\126\000\000\000\001abcd' >/dev/udp/%s/4791"
_SHORT = r"printf 'abcd' >/dev/udp/%s/4791"


def _set(t, guest, on):
    t.run(guest, "echo %d >%s/events/tern/enable" % (on, _TRACING), check=True)


def _take(t, guest):
    """The events so far, and forget them: {event: [text of its fields]}."""
    out = t.run(guest, "cat %s/trace; echo >%s/trace" % (_TRACING, _TRACING), check=True).out
    events = {}
    for name, fields in re.findall(r": (tern_\w+): (.*)", out):
        events.setdefault(name, []).append(fields)
    return events


def _check(t, what, events, name, pattern):
    """Is there an event of that name and with fields like that?"""
    seen = events.get(name, [])
    t.case("%s: %s %s" % (what, name, pattern), any(re.search(pattern, line) for line in seen),
           "%d events; %s" % (len(seen), "\n".join(seen[:5]) or sorted(events)))


def _check_both(t, what, name, pattern, events):
    both = {}
    for one in events:
        for key, lines in one.items():
            both.setdefault(key, []).extend(lines)
    _check(t, what, both, name, pattern)


def _provoke(t, command, what, *wanted):
    """wanted: (event, pattern), of either guest."""
    for guest in t.guests:
        _take(t, guest)
    command()
    events = [_take(t, guest) for guest in t.guests]
    for name, pattern in wanted:
        _check_both(t, what, name, pattern, events)
    for one in events:
        odd = [line for lines in one.values() for line in lines
               if not line.startswith("dev=") or "?" in line]
        if odd:
            t.case(what + ": every field has a name", False, "\n".join(odd[:5]))


def _provoke_errors(t, case, *wanted):
    _provoke(t, lambda: t.tool("verrors", "-t 10 -m '%s'" % case, timeout=60, prefix="traced: "),
             case, *wanted)


def _send_junk(t):
    # bash: other shells have no /dev/udp.
    for junk in (_JUNK, _SHORT):
        t.run(t.a, "bash -c \"%s\"" % (junk % t.b.address).replace("\\", "\\\\"), check=True)
    t.sleep(0.5)


def _lose(t):
    """RC sends again what is lost; of UC nobody does, and perftest's writer does not miss it."""
    for guest in t.guests:
        netem.add(t, guest, "loss 3% delay 1ms limit 20000")
    try:
        t.tool("vverify", "-m rc/write -m rc/read -m rc/send -m 'rc/*/both-ways'", timeout=120,
               prefix="losing: ")
        command = "ib_write_bw -F -n 500 -s 4096 -c UC -d "
        t.pair_case("losing: UC", command + t.dev(t.b),
                    command + "%s %s" % (t.dev(t.a), t.b.address), port=18515)
    finally:
        for guest in t.guests:
            netem.remove(t, guest)


def _shape(t):
    t.run(t.a, "modprobe sch_tbf; tc qdisc replace dev eth0 root tbf rate 100mbit burst 100kb "
               "limit 100mb", check=True)
    try:
        t.tool("vverify", "-m scale/bulk -N 32 -S %d -t 60" % (3 * t.slow), timeout=90,
               prefix="shaped: ")
    finally:
        netem.remove(t, t.a)


def _check_roce(t):
    dev = "dev=%s " % t.dev(t.b)
    _provoke_errors(
        t, "remote/qp-rights",
        ("tern_qp_state", r"type=RC state=RTR next=RTS"),
        ("tern_qp_state", r"type=RC state=RTS next=ERR"),
        ("tern_nak_sent", r"kind=(remote-access|invalid-request)"),
        ("tern_nak_rcvd", r"kind=(remote-access|invalid-request)"),
        ("tern_cqe_error", r"queue=send wr_id=\S+ status=REM_(ACCESS|INV_REQ)_ERR"))
    _provoke_errors(
        t, "remote/no-receive",
        ("tern_nak_sent", r"kind=rnr rnr_timer=\d+"), ("tern_nak_rcvd", r"kind=rnr rnr_timer=\d+"),
        ("tern_retransmit", r"why=rnr psn=\d+ retries_left=\d"),
        ("tern_cqe_error", r"status=RNR_RETRY_EXC_ERR"))
    _provoke_errors(
        t, "remote/peer-gone", ("tern_retransmit", r"why=timeout"),
        ("tern_rx_drop", r"opcode=\S+ psn=\d+ why=(no-qp|qp-state)"),
        ("tern_cqe_error", r"status=RETRY_EXC_ERR"))
    _provoke_errors(t, "ud/wrong-qkey", ("tern_rx_drop", r"opcode=0x64 psn=\d+ why=qkey"))
    _provoke(t, lambda: _send_junk(t), "junk",
             ("tern_rx_drop", dev + r"qpn=%d opcode=0x4 psn=1 why=icrc" % 0x123456),
             ("tern_rx_drop", dev + r"qpn=0 opcode=0x0 psn=0 why=malformed"))
    _provoke(t, lambda: _lose(t), "loss", ("tern_retransmit", r"why=nak"),
             ("tern_retransmit", r"why=(implied-nak|timeout)"),
             ("tern_rx_drop", r"why=out-of-sequence"),
             ("tern_nak_sent", r"kind=sequence"), ("tern_window", r"before=\d+ now=\d+"))
    _provoke(t, lambda: _shape(t), "a slow netdev", ("tern_gate_wait", r"qpn=\d+ bytes=\d+"),
             ("tern_gate_go", r"qpn=\d+"))
    _provoke(t, lambda: t.tool("vverify", "-m 'odp/explicit*' -m odp/remote-unmapped", timeout=60,
                               prefix="traced: "),
             "memory on demand", ("tern_fault_begin", r"addr=0x\w+ bytes=\d+ for=(read|write)"),
             ("tern_fault_end", r"error=0"), ("tern_fault_end", r"error=-\d+"))
    _provoke(t, lambda: t.tool("vverify", "-m rc/write", timeout=30, prefix="same host: ", at=t.a),
             "within a host", ("tern_way", r"path=local"))


def _break_start_up(t):
    server = t.start(t.b, "exec rping -s -a %s -p 7471" % t.b.address, 30)
    t.b.wait_until("rdma resource show cm_id | grep -q LISTEN", timeout=10)
    t.run(t.a, "bash -c 'printf %%020d 0 >/dev/tcp/%s/7471'; sleep 1" % t.b.address, check=True)
    server.kill(9)
    server.wait(timeout=30)


def _refuse_write(t):
    """A RoCE program's case: a WRITE without the right is complete before the peer refuses it."""
    server, client = t.tool_start("verrors", "-t 10 -m remote/region-rights", 60)
    client.wait()
    t.finish(server)


def _check_iwarp(t):
    _provoke(t, lambda: _refuse_write(t), "a WRITE refused",
             ("tern_terminate_sent", r"layer=1 type=1 code=0"),
             ("tern_qp_state", r"type=RC state=RTS next=ERR"))
    # A READ waits for its answer, so its end hears of the refusal.
    _provoke_errors(t, "remote/dead-key", ("tern_terminate_sent", r"layer=0 type=1 code=0"),
                    ("tern_terminate_rcvd", r"layer=0 type=1 code=0"))
    _provoke(
        t, lambda: t.pair_case("traced: viwarp", "/tern/viwarp -n 3",
                               "/tern/viwarp -n 3 " + t.b.address, port=7471, want="verified"),
        "connections", ("tern_qp_state", r"type=RC state=(INIT|RTR) next=RTS"),
        ("tern_cqe_error", r"queue=\w+ wr_id=\S+ status=WR_FLUSH_ERR"),
        ("tern_iw_state", r"port=\d+ peer_port=\d+ state=NEW next=CONNECTING"),
        ("tern_iw_state", r"state=WAIT_REQUEST next=REQUESTED"),
        ("tern_iw_state", r"state=WAIT_REPLY next=OPEN"), ("tern_iw_state", r"next=DEAD"))
    _provoke(t, lambda: _break_start_up(t), "not MPA",
             ("tern_mpa_error", r"port=7471 peer_port=\d+ error=key"))
    _provoke(t, lambda: _shape(t), "a slow netdev", ("tern_gate_wait", r"qpn=\d+ bytes=\d+"),
             ("tern_gate_go", r"qpn=\d+"))


def run(t):
    if not t.is_tern:
        t.skip("trace events", "they are tern's")
        return
    t.undo = [lambda: [t.run(guest, "echo 0 >%s/events/tern/enable; echo >%s/trace"
                             % (_TRACING, _TRACING)) for guest in t.guests]]
    for guest in t.guests:
        out = t.run(guest, _SETUP.format(_TRACING), check=True).out.strip()
        t.case("%s: trace events are off" % guest.name, out == "0", out)
        _take(t, guest)
    t.tool("verrors", "-t 10 -m remote/dead-key", timeout=60, prefix="not traced: ")
    t.case("off: no event", not any(_take(t, guest) for guest in t.guests))
    for guest in t.guests:
        _set(t, guest, True)
    if "iwarp" in t.pair:
        _check_iwarp(t)
    else:
        _check_roce(t)
