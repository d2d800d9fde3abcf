# SPDX-License-Identifier: GPL-2.0
"""Short of memory: kept pages are given back, under load too; no large ones; iWARP while TCP has none."""

from vmtest import faults, netem, netns, tcp_mem

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 240

# Who may wait for them has them.
_NO_LARGE = {"fail_page_alloc/" + name: value for name, value in (
    ("min-order", 1), ("ignore-gfp-wait", "Y"), ("verbose", 0), ("task-filter", "N"),
    ("interval", 1), ("times", -1), ("probability", 100))}
_TRACE = "/sys/kernel/tracing"
_SHRUNK = _TRACE + "/events/vmscan/mm_shrink_slab_end/enable"
_ASK = "echo 2 >/proc/sys/vm/drop_caches"
_MANY = 64  # QPs, with an FPDU of 16 KiB under way each
_FEW_PAGES = 48  # of 4 KiB
_DELAY = "delay 20ms limit 10000"  # so that most QPs have sent a part of an FPDU at a time
_QUIETLY = "echo 4 >/proc/sys/vm/drop_caches"  # no line in the kernel log each time


def _by_cm(t):
    return t.pair == "iwarp-iwarp"


def _under_load(t):
    """All the while, in both guests."""
    asking = [t.start(guest, "%s; while %s; do :; done" % (_QUIETLY, _ASK), 100) for guest in t.guests]
    if _by_cm(t):
        t.pair_case("verified data while memory is asked for", "/tern/viwarp",
                    "/tern/viwarp " + t.b.address, port=7471, want="verified")
    else:
        t.tool("vverify", "-m rc/write -m rc/read -m rc/send -m uc/write",
               prefix="while memory is asked for: ")
    for command in asking:
        t.case("it was asked for until the end", command.running)
        t.kill(command)


def _across_veth(t):
    """The same within guest a, so that no packet needs a NIC's buffer."""
    kind = "tern_iwarp" if _by_cm(t) else "tern_roce"
    t.undo.append(lambda: t.run(t.a, netns.DOWN))
    t.run(t.a, netns.UP, check=True)
    netns.add_links(t, kind, timeout=15)
    moving = t.has_grown(t.a, "tx_bytes", 20000000, "veth0")
    command = "ib_write_bw -F -R -s 1048576 -t 8 -n 5000000 "
    server = t.start(t.a, "ip netns exec n1 " + command, 90)
    t.wait_cm_listen(t.a)
    client = t.start(t.a, command + netns.FAR, 90)
    t.a.wait_until(moving, timeout=20)
    return server, client


def _no_large_pages(t):
    """None that a softirq asks for, and those that are kept are asked for again and again."""
    if not faults.are_injected(t, t.a, "fail_page_alloc"):
        t.skip("no large pages", "this kernel cannot be told to have none")
        return
    programs = _across_veth(t)
    faults.set_up(t, t.a, _NO_LARGE)
    asking = t.start(t.a, "%s; while %s; do :; done" % (_QUIETLY, _ASK), 100)
    try:
        # Long enough for the last of them to be given back.
        t.sleep(5)
        goes_on = t.has_grown(t.a, "tx_bytes", 5000000, "veth0")
        result = t.run(t.a, "for i in $(seq 300); do %s && exit; sleep 0.1; done; exit 1" % goes_on)
        t.case("bulk goes on without large pages",
               result.ok and all(program.running for program in programs),
               "".join(program.output()[-800:] for program in programs))
    finally:
        t.kill(*programs, asking)
        t.undo_now()


def _given_back(t, guest):
    """By tern's shrinker, when all are asked once."""
    t.run(guest, "set -e; mountpoint -q {0} || mount -t tracefs none {0}; echo >{0}/trace; "
                 "echo 1 >{1}; {2}; echo 0 >{1}".format(_TRACE, _SHRUNK, _ASK), check=True)
    lines = t.run(guest, r"grep '\[tern\]' %s/trace; true" % _TRACE).out.splitlines()
    return sum(max(0, int(line.split()[-1])) for line in lines), "\n".join(lines)


def _of_a_qp(t):
    """A transfer that stands still, and so sends nothing, but whose QP is there."""
    # Held up, so that more pages are under way than each CPU may keep.
    netem.add(t, t.a, _DELAY)
    t.undo.append(lambda: netem.remove(t, t.a))
    # What was posted goes on to be sent: 8 MiB, not the 128 that ib_write_bw takes by itself.
    server, client = t.endless("ib_write_bw -F -s 1048576 -t 8 -n 5000000%s"
                               % (" -R" if _by_cm(t) else ""),
                               t.has_grown(t.a, "tx_bytes", 20000000))
    sent = "$(cat %s)" % t.counter_file(t.a, "tx_bytes")
    try:
        t.run(t.a, "pkill -STOP ib_write_bw", check=True)
        t.a.wait_until("n={0}; sleep 0.5; [ {0} = $n ]".format(sent), timeout=20)
        pages, lines = _given_back(t, t.a)
        t.case("what it has filled is given back", pages >= 8, "%d pages\n%s" % (pages, lines))
        pages, lines = _given_back(t, t.a)
        t.case("once", pages < 8, "%d pages\n%s" % (pages, lines))
    finally:
        t.kill(server, client)
        netem.remove(t, t.a)


def _tcp_count(t, guest, name):
    names, values = t.run(guest, "grep ^TcpExt: /proc/net/netstat", check=True).out.splitlines()
    return int(dict(zip(names.split(), values.split()))[name])


def _pressures(t):
    """How often TCP has come to be short of memory, in either guest."""
    return sum(_tcp_count(t, guest, "TCPMemoryPressures") for guest in t.guests)


def _dropped(t):
    """Packets that TCP of guest b had no memory for, or closed its window to for that reason."""
    return sum(_tcp_count(t, t.b, name) for name in ("TCPRcvQDrop", "TCPZeroWindowDrop"))


def _of_tcp(t):
    """TCP has memory for a page at a time, in both guests, half of the time, beside bulk."""
    before = _pressures(t)
    # Once it moves it is through with where perftest may crash of itself, which is tried again.
    server, client = t.endless("ib_write_bw -F -R -s 1048576 -n 5000000",
                               t.has_grown(t.a, "tx_bytes", 20000000))
    try:
        with tcp_mem.pressure(t, t.guests, 0.3) as loops:
            t.pair_case("verified data while TCP has hardly any memory", "/tern/viwarp",
                        "/tern/viwarp " + t.b.address, port=7471, want="verified")
            for _ in range(20):
                if _pressures(t) > before:
                    break
                t.sleep(1)
            t.case("TCP was short of it", _pressures(t) > before)
            t.case("bulk beside it until the end",
                   all(command.running for command in (server, client, *loops)))
    finally:
        t.kill(server, client)


def _of_many(t):
    """TCP of the receiver has less memory than the beginnings of the FPDUs of all QPs would take."""
    if t.run(t.b, "nproc", check=True).out.strip() != "1":
        # Each CPU keeps up to a MiB of what it has charged to itself: the sum that is compared with
        # tcp_mem can stay above so low a limit when all memory is free again.
        t.skip("TCP has memory for few", "TCP does not count so exactly on several CPUs")
        return
    usual = tcp_mem.read(t, t.b)
    before = _dropped(t)
    netem.add(t, t.a, _DELAY)
    try:
        moving = t.has_grown(t.a, "tx_bytes", 10000000)
        server, client = t.tool_start("vverify", "-m scale/bulk -N %d -S 10 -t 60" % _MANY)
        t.a.wait_until(moving, timeout=60)
        # Of QPs that know that memory is short nothing is dropped. So it becomes so while they hold
        # the beginnings of FPDUs, as often as it takes, and stays so until the end.
        while client.running and _dropped(t) == before:
            tcp_mem.toggle(t, t.b, usual, "24 32 %d" % _FEW_PAGES, (0.2, 0.1))
        t.take_tap(client.wait(), "TCP has memory for few: ")
        t.finish(server)
    finally:
        tcp_mem.write(t, t.b, usual)
        netem.remove(t, t.a)
    t.case("TCP has dropped what it had no memory for", _dropped(t) > before)


def run(t):
    t.undo = []
    _no_large_pages(t)
    _under_load(t)
    _of_a_qp(t)
    if _by_cm(t):
        _of_tcp(t)
        _of_many(t)
