# SPDX-License-Identifier: GPL-2.0
"""The polling thread: nobody rings while it looks; it sleeps when idle; nothing is lost or left."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300

MESSAGES = 100
MAX_US = 1000000
PORT = 18515
TICK_S = 0.01


def _file(t, guest):
    return "/sys/class/infiniband/%s/poll_us" % t.dev(guest)


def _set(t, us, *guests):
    for guest in guests or t.guests:
        t.run(guest, "echo %d >%s" % (us, _file(t, guest)), check=True)


def _threads(t, guest):
    """Their process numbers."""
    return t.run(guest, "grep -ls '^tern-poll/' /proc/[0-9]*/comm | cut -d/ -f3").out.split()


def _cpu_s(t, guest, pid):
    """CPU time that a thread has taken."""
    return TICK_S * int(t.run(guest, "awk '{ print $14 + $15 }' /proc/%s/stat" % pid,
                              check=True).out)


def _switched(t):
    """The file, and the thread that comes and goes with it."""
    file = _file(t, t.a)
    t.case("0 by default, and no thread",
           t.run(t.a, "cat " + file).out == "0\n" and not _threads(t, t.a))
    for bad in ("", "-1", "many", "0x10", "1 2", str(MAX_US + 1), str(1 << 32), str(1 << 70)):
        # dd says why; a shell's echo may not.
        result = t.run(t.a, "echo '%s' | dd conv=notrunc of=%s" % (bad, file))
        t.case("refused: '%s'" % bad, result.rc and "Invalid argument" in result.err, result.err)
    t.case("and no thread came of it", not _threads(t, t.a))
    for good in (1, MAX_US):
        _set(t, good, t.a)
        t.case("%d reads back" % good, t.run(t.a, "cat " + file).out == "%d\n" % good)
        pids = _threads(t, t.a)
        t.case("and there is one thread", len(pids) == 1, pids)
    name = t.run(t.a, "cat /proc/%s/comm" % pids[0]).out.strip()
    t.case("named for the device", name == "tern-poll/" + t.dev(t.a), name)
    # Faster than a thread begins to run: it is stopped before.
    t.check_run("on and off again at once", t.a,
                "for i in $(seq 100); do echo 9 >%s; echo 0 >%s; done" % (file, file), 30)
    t.case("and no thread is left", not _threads(t, t.a))


def _ping_pong(t, messages):
    """The command of a ping-pong, but for the device and the server's address."""
    return "ib_send_lat -F -s 2%s -n %d" % (" -R" if t.pair == "iwarp-iwarp" else "", messages)


def _rings(t):
    """Doorbells, and what the thread found, of one end of a ping-pong."""
    before = [t.counter(t.a, name) for name in ("doorbells", "poll_runs")]
    command = _ping_pong(t, MESSAGES)
    t.pair_case("%d messages to and fro" % MESSAGES, "%s -d %s" % (command, t.dev(t.b)),
                "%s -d %s %s" % (command, t.dev(t.a), t.b.address), port=PORT, timeout=60)
    return [t.counter(t.a, name) - n for name, n in zip(("doorbells", "poll_runs"), before)]


def _saves_calls(t):
    doorbells, runs = _rings(t)
    t.case("without it each message rings", doorbells > MESSAGES / 2 and not runs,
           "%d doorbells, %d runs" % (doorbells, runs))
    # On a busy host guests stand still for a while, and the thread stops looking. At the client
    # only: the server listens in a race with it (-R), and lost that with a thread beside it.
    _set(t, MAX_US, t.a)
    doorbells, runs = _rings(t)
    t.note("%d messages with the thread: %d doorbells, it found %d" % (MESSAGES, doorbells, runs))
    t.case("with it hardly any does", doorbells < MESSAGES / 4,
           "%d doorbells, %d runs" % (doorbells, runs))
    t.case("for the thread finds them", runs > MESSAGES / 2,
           "%d doorbells, %d runs" % (doorbells, runs))
    _set(t, 0)


def _more(t):
    """A condition: the ping-pong has sent some more since this was called."""
    return t.has_grown(t.a, "requests_sent", MESSAGES)


def _sleeps(t):
    """A program has its QP in RTS, and nothing to say for a while; then it goes on."""
    _set(t, 20000)
    threads = [(guest, _threads(t, guest)[0]) for guest in t.guests]
    server, client = t.endless(_ping_pong(t, 5000000), _more(t))
    try:
        for guest, pid in threads:
            t.case("guest %s: traffic wakes it" % guest.name, _cpu_s(t, guest, pid) > 0)
        for turn in ("first", "second"):
            t.run(t.a, "pkill -STOP ib_send_lat", check=True)
            t.sleep(0.5)
            before = [_cpu_s(t, *thread) for thread in threads]
            t.run(t.a, "sleep 1", check=True)
            took = [_cpu_s(t, *thread) - s for thread, s in zip(threads, before)]
            t.case("idle, it takes no CPU time (%s time)" % turn, max(took) <= 2 * TICK_S, took)
            t.run(t.a, "pkill -CONT ib_send_lat", check=True)
            t.a.wait_until(_more(t), timeout=20)
            t.case("and wakes again (%s time)" % turn, server.running and client.running)
    finally:
        t.kill(server, client)


def _same_results(t):
    _set(t, 1000)
    t.tool("vverify", "-m 'rc/write*' -m 'rc/send*' -m scale/mixed -S 3 -t 20", timeout=100,
           prefix="1 ms: ")
    if t.pair == "tern-tern":
        t.tool("vverify", "-m 'uc/send' -m 'ud/send' -m srq/eight-qps", timeout=60,
               prefix="1 ms: ")
        t.tool("verrors", "-m 'local/*' -m 'state/*' -m 'event/*' -m 'ud/*' -t 10", timeout=100,
               prefix="1 ms: ")
    t.tool("verrors", "-m 'doorbell/*'", timeout=60, prefix="1 ms: ")


def _joins_and_leaves(t):
    """A doorbell that is lost leaves a request undone, and the program times out."""
    _set(t, 1)
    t.tool("vverify", "-m scale/mixed -S 4 -t 20", timeout=60, prefix="1 us: ")
    flips = [t.start(guest, "while sleep 0.03; do for us in 0 20 2000; do echo $us >%s; done; done"
                     % _file(t, guest), 90) for guest in t.guests]
    t.tool("vverify", "-m scale/mixed -S 5 -t 20", timeout=60, prefix="on and off under load: ")
    t.kill(*flips)


def _wrecked(t):
    """QPs are reset, destroyed, and killed with their process while the thread looks at them."""
    _set(t, 100000)
    chaos = [t.start(guest, "/tern/vchaos -n eth0 -P 30 -S 8 -s %d" % seed, 120)
             for seed, guest in enumerate(t.guests)]
    for guest, command in zip(t.guests, chaos):
        result = command.wait()
        t.case("guest %s: no process crashes, hangs or gives up" % guest.name,
               result.rc == 0 and " 0 gave up" in result.out, result.out[-1500:])
    if t.pair == "tern-tern":
        t.check_run("QPs of one host wrecked under traffic", t.a,
                    "/tern/vrace -n eth0 -P 4 -S %d" % (3 * t.slow), 60)
    server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
    t.sleep(2)
    t.kill(client)
    t.case("client killed: the server ends too", t.finish(server, 30))


def _ends(t):
    """With its link, and with the module, in the middle of looking."""
    _set(t, MAX_US)
    server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
    t.sleep(2)
    t.check_run("rdma link delete under load", t.a, "rdma link delete " + t.dev(t.a), 30)
    t.case("the thread goes with it", not _threads(t, t.a))
    t.case("the client ends", t.finish(client, 40))
    t.case("the server ends", t.finish(server, 60))
    driver = t.lab.driver_of(t.pair, "a")
    t.lab.add_link(t.a, driver)
    t.case("a new link has none", t.run(t.a, "cat " + _file(t, t.a)).out == "0\n")

    _set(t, MAX_US, t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="before rmmod: ")
    t.check_run("rmmod while it looks", t.a, "rmmod tern", 30)
    t.case("the thread goes with the module", not _threads(t, t.a))
    t.lab.add_link(t.a, driver)
    _set(t, 0)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="afterwards, without: ")


def run(t):
    _switched(t)
    _saves_calls(t)
    _sleeps(t)
    _same_results(t)
    _joins_and_leaves(t)
    _wrecked(t)
    _ends(t)
