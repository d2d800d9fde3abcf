# SPDX-License-Identifier: GPL-2.0
"""Memory pressure: cached pages are given back; no high-order pages; iWARP while TCP lacks memory."""

from vmtest import faults, netem, netns, tcp_mem

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 240

# All high-order allocations fail, unless the caller may sleep.
_NO_LARGE = {"fail_page_alloc/" + name: value for name, value in (
    ("min-order", 1), ("ignore-gfp-wait", "Y"), ("verbose", 0), ("task-filter", "N"),
    ("interval", 1), ("times", -1), ("probability", 100))}
_TRACE = "/sys/kernel/tracing"
_SHRINK_EVENT = _TRACE + "/events/vmscan/mm_shrink_slab_end/enable"
_DROP_CACHES = "echo 2 >/proc/sys/vm/drop_caches"
_QPS = 64  # with an FPDU of 16 KiB in flight each
_FEW_PAGES = 48  # of 4 KiB
_DELAY = "delay 20ms limit 10000"  # so that most QPs have sent a part of an FPDU at a time
_NO_LOG = "echo 4 >/proc/sys/vm/drop_caches"  # no line in the kernel log each time


def _is_iwarp(t):
    return t.pair == "iwarp-iwarp"


def _check_under_load(t):
    """Shrinkers run all the time, in both guests."""
    asking = [t.start(guest, "%s; while %s; do :; done" % (_NO_LOG, _DROP_CACHES), 100) for guest in t.guests]
    if _is_iwarp(t):
        t.pair_case("verified data while shrinkers run", "/tern/viwarp",
                    "/tern/viwarp " + t.b.address, port=7471, want="verified")
    else:
        t.tool("vverify", "-m rc/write -m rc/read -m rc/send -m uc/write",
               prefix="while shrinkers run: ")
    for command in asking:
        t.case("shrinkers ran until the end", command.running)
        t.kill(command)


def _start_across_veth(t):
    """Start endless bulk across veth in guest a: no packet needs a NIC's buffer."""
    kind = "tern_iwarp" if _is_iwarp(t) else "tern_roce"
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


def _check_without_large_pages(t):
    """Softirqs get no high-order pages, and shrinkers take back the cached ones."""
    if not faults.are_injected(t, t.a, "fail_page_alloc"):
        t.skip("no high-order pages", "this kernel has no fail_page_alloc")
        return
    programs = _start_across_veth(t)
    faults.set_up(t, t.a, _NO_LARGE)
    asking = t.start(t.a, "%s; while %s; do :; done" % (_NO_LOG, _DROP_CACHES), 100)
    try:
        # Long enough for the last cached page to be given back.
        t.sleep(5)
        goes_on = t.has_grown(t.a, "tx_bytes", 5000000, "veth0")
        result = t.run(t.a, "for i in $(seq 300); do %s && exit; sleep 0.1; done; exit 1" % goes_on)
        t.case("bulk goes on without high-order pages",
               result.ok and all(program.running for program in programs),
               "".join(program.output()[-800:] for program in programs))
    finally:
        t.kill(*programs, asking)
        t.undo_now()


def _run_shrinkers(t, guest):
    """Run all shrinkers once; returns how many pages tern's gave back, and the trace."""
    t.run(guest, "set -e; mountpoint -q {0} || mount -t tracefs none {0}; echo >{0}/trace; "
                 "echo 1 >{1}; {2}; echo 0 >{1}".format(_TRACE, _SHRINK_EVENT, _DROP_CACHES), check=True)
    lines = t.run(guest, r"grep '\[tern\]' %s/trace; true" % _TRACE).out.splitlines()
    return sum(max(0, int(line.split()[-1])) for line in lines), "\n".join(lines)


def _check_idle_qp(t):
    """A QP that sends nothing because its program is stopped."""
    # The delay keeps more pages in flight than a CPU may cache.
    netem.add(t, t.a, _DELAY)
    t.undo.append(lambda: netem.remove(t, t.a))
    # What was posted is still sent. So post 8 MiB (-t 8), not ib_write_bw's default of 128.
    server, client = t.endless("ib_write_bw -F -s 1048576 -t 8 -n 5000000%s"
                               % (" -R" if _is_iwarp(t) else ""),
                               t.has_grown(t.a, "tx_bytes", 20000000))
    sent = "$(cat %s)" % t.counter_file(t.a, "tx_bytes")
    try:
        t.run(t.a, "pkill -STOP ib_write_bw", check=True)
        t.a.wait_until("n={0}; sleep 0.5; [ {0} = $n ]".format(sent), timeout=20)
        pages, lines = _run_shrinkers(t, t.a)
        t.case("its pages are given back", pages >= 8, "%d pages\n%s" % (pages, lines))
        pages, lines = _run_shrinkers(t, t.a)
        t.case("they are given back only once", pages < 8, "%d pages\n%s" % (pages, lines))
    finally:
        t.kill(server, client)
        netem.remove(t, t.a)


def _read_tcp_count(t, guest, name):
    names, values = t.run(guest, "grep ^TcpExt: /proc/net/netstat", check=True).out.splitlines()
    return int(dict(zip(names.split(), values.split()))[name])


def _count_pressures(t):
    """How often TCP has entered memory pressure, in both guests together."""
    return sum(_read_tcp_count(t, guest, "TCPMemoryPressures") for guest in t.guests)


def _count_dropped(t):
    """Packets that guest b's TCP dropped, or closed its window to, for lack of memory."""
    return sum(_read_tcp_count(t, t.b, name) for name in ("TCPRcvQDrop", "TCPZeroWindowDrop"))


def _check_tcp_pressure(t):
    """Half of the time TCP has memory for one page at a time, in both guests, beside bulk."""
    before = _count_pressures(t)
    # endless() tries again if perftest crashes while it connects.
    server, client = t.endless("ib_write_bw -F -R -s 1048576 -n 5000000",
                               t.has_grown(t.a, "tx_bytes", 20000000))
    try:
        with tcp_mem.pressure(t, t.guests, 0.3) as loops:
            t.pair_case("verified data while TCP lacks memory", "/tern/viwarp",
                        "/tern/viwarp " + t.b.address, port=7471, want="verified")
            for _ in range(20):
                if _count_pressures(t) > before:
                    break
                t.sleep(1)
            t.case("TCP was under memory pressure", _count_pressures(t) > before)
            t.case("bulk ran beside it until the end",
                   all(command.running for command in (server, client, *loops)))
    finally:
        t.kill(server, client)


def _check_receiver_limit(t):
    """The receiver's TCP has less memory than the incomplete FPDUs of all QPs need."""
    if t.run(t.b, "nproc", check=True).out.strip() != "1":
        # Each CPU may keep a MiB of its charge: the sum that is compared with tcp_mem can stay
        # above so low a limit when all memory is free again.
        t.skip("TCP memory for few FPDUs", "TCP does not count exactly enough on several CPUs")
        return
    usual = tcp_mem.read(t, t.b)
    before = _count_dropped(t)
    netem.add(t, t.a, _DELAY)
    try:
        moving = t.has_grown(t.a, "tx_bytes", 10000000)
        server, client = t.tool_start("vverify", "-m scale/bulk -N %d -S 10 -t 60" % _QPS)
        t.a.wait_until(moving, timeout=60)
        # QPs that know of the pressure lose no packet. So the limit falls while they hold incomplete
        # FPDUs, as often as needed, and then stays.
        while client.running and _count_dropped(t) == before:
            tcp_mem.toggle(t, t.b, usual, "24 32 %d" % _FEW_PAGES, (0.2, 0.1))
        t.take_tap(client.wait(), "TCP memory for few FPDUs: ")
        t.finish(server)
    finally:
        tcp_mem.write(t, t.b, usual)
        netem.remove(t, t.a)
    t.case("TCP has dropped packets for lack of memory", _count_dropped(t) > before)


def run(t):
    t.undo = []
    _check_without_large_pages(t)
    _check_under_load(t)
    _check_idle_qp(t)
    if _is_iwarp(t):
        _check_tcp_pressure(t)
        _check_receiver_limit(t)
