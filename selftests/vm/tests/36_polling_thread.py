# SPDX-License-Identifier: GPL-2.0
"""The polling thread (poll_us): it replaces doorbells, sleeps when idle, and loses no request."""

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300

MESSAGES = 100
MAX_US = 1000000
PORT = 18515
TICK_S = 0.01


def _poll_file(t, guest):
    return "/sys/class/infiniband/%s/poll_us" % t.dev(guest)


def _set_poll_us(t, us, *guests):
    for guest in guests or t.guests:
        t.run(guest, "echo %d >%s" % (us, _poll_file(t, guest)), check=True)


def _find_threads(t, guest):
    """The process numbers of polling threads."""
    return t.run(guest, "grep -ls '^tern-poll/' /proc/[0-9]*/comm | cut -d/ -f3").out.split()


def _read_cpu_s(t, guest, pid):
    """The CPU time of a thread, in seconds."""
    return TICK_S * int(t.run(guest, "awk '{ print $14 + $15 }' /proc/%s/stat" % pid,
                              check=True).out)


def _check_switch(t):
    """The file's values, and the thread that starts and ends with them."""
    file = _poll_file(t, t.a)
    t.case("0 by default, and no thread",
           t.run(t.a, "cat " + file).out == "0\n" and not _find_threads(t, t.a))
    for bad in ("", "-1", "many", "0x10", "1 2", str(MAX_US + 1), str(1 << 32), str(1 << 70)):
        # dd prints the error; a shell's echo may not.
        result = t.run(t.a, "echo '%s' | dd conv=notrunc of=%s" % (bad, file))
        t.case("refused: '%s'" % bad, result.rc and "Invalid argument" in result.err, result.err)
    t.case("refused values start no thread", not _find_threads(t, t.a))
    for good in (1, MAX_US):
        _set_poll_us(t, good, t.a)
        t.case("%d reads back" % good, t.run(t.a, "cat " + file).out == "%d\n" % good)
        pids = _find_threads(t, t.a)
        t.case("there is one thread", len(pids) == 1, pids)
    name = t.run(t.a, "cat /proc/%s/comm" % pids[0]).out.strip()
    t.case("it has the device's name", name == "tern-poll/" + t.dev(t.a), name)
    # The thread is stopped before it begins to run.
    t.check_run("on and off again a hundred times", t.a,
                "for i in $(seq 100); do echo 9 >%s; echo 0 >%s; done" % (file, file), 30)
    t.case("no thread is left", not _find_threads(t, t.a))


def _ping_pong_command(t, messages):
    """The command of a ping-pong, without the device and the server's address."""
    return "ib_send_lat -F -s 2%s -n %d" % (" -R" if t.pair == "iwarp-iwarp" else "", messages)


def _count_rings(t):
    """One end's doorbells in a ping-pong, and the QPs that its thread found work for."""
    before = [t.counter(t.a, name) for name in ("doorbells", "poll_runs")]
    command = _ping_pong_command(t, MESSAGES)
    t.pair_case("ping-pong of %d messages" % MESSAGES, "%s -d %s" % (command, t.dev(t.b)),
                "%s -d %s %s" % (command, t.dev(t.a), t.b.address), port=PORT, timeout=60)
    return [t.counter(t.a, name) - n for name, n in zip(("doorbells", "poll_runs"), before)]


def _check_fewer_doorbells(t):
    doorbells, runs = _count_rings(t)
    t.case("without the thread each message rings", doorbells > MESSAGES / 2 and not runs,
           "%d doorbells, %d runs" % (doorbells, runs))
    # The longest time: guests of a busy host stand still for a while, and then the thread stops.
    # At the client only: with -R the server races to listen, and lost that with a thread beside it.
    _set_poll_us(t, MAX_US, t.a)
    doorbells, runs = _count_rings(t)
    t.note("%d messages with the thread: %d doorbells, %d runs by it" % (MESSAGES, doorbells, runs))
    t.case("with it few messages ring", doorbells < MESSAGES / 4,
           "%d doorbells, %d runs" % (doorbells, runs))
    t.case("the thread finds the others", runs > MESSAGES / 2,
           "%d doorbells, %d runs" % (doorbells, runs))
    _set_poll_us(t, 0)


def _has_moved(t):
    """A shell condition: the ping-pong has sent more since this call."""
    return t.has_grown(t.a, "requests_sent", MESSAGES)


def _check_idle(t):
    """A program with a QP in RTS sends nothing for a while, then goes on."""
    _set_poll_us(t, 20000)
    threads = [(guest, _find_threads(t, guest)[0]) for guest in t.guests]
    server, client = t.endless(_ping_pong_command(t, 5000000), _has_moved(t))
    try:
        for guest, pid in threads:
            t.case("guest %s: traffic wakes the thread" % guest.name, _read_cpu_s(t, guest, pid) > 0)
        for turn in ("first", "second"):
            t.run(t.a, "pkill -STOP ib_send_lat", check=True)
            t.sleep(0.5)
            before = [_read_cpu_s(t, *thread) for thread in threads]
            t.run(t.a, "sleep 1", check=True)
            took = [_read_cpu_s(t, *thread) - s for thread, s in zip(threads, before)]
            t.case("idle, it uses no CPU time (%s time)" % turn, max(took) <= 2 * TICK_S, took)
            t.run(t.a, "pkill -CONT ib_send_lat", check=True)
            t.a.wait_until(_has_moved(t), timeout=20)
            t.case("traffic goes on (%s time)" % turn, server.running and client.running)
    finally:
        t.kill(server, client)


def _check_results(t):
    _set_poll_us(t, 1000)
    t.tool("vverify", "-m 'rc/write*' -m 'rc/send*' -m scale/mixed -S 3 -t 20", timeout=100,
           prefix="1 ms: ")
    if t.pair == "tern-tern":
        t.tool("vverify", "-m 'uc/send' -m 'ud/send' -m srq/eight-qps", timeout=60,
               prefix="1 ms: ")
        t.tool("verrors", "-m 'local/*' -m 'state/*' -m 'event/*' -m 'ud/*' -t 10", timeout=100,
               prefix="1 ms: ")
    t.tool("verrors", "-m 'doorbell/*'", timeout=60, prefix="1 ms: ")


def _check_changes(t):
    """If a doorbell were lost while poll_us changes, a request would never end: a timeout."""
    _set_poll_us(t, 1)
    t.tool("vverify", "-m scale/mixed -S 4 -t 20", timeout=60, prefix="1 us: ")
    flips = [t.start(guest, "while sleep 0.03; do for us in 0 20 2000; do echo $us >%s; done; done"
                     % _poll_file(t, guest), 90) for guest in t.guests]
    t.tool("vverify", "-m scale/mixed -S 5 -t 20", timeout=60, prefix="on and off under load: ")
    t.kill(*flips)


def _check_destruction(t):
    """QPs are reset, destroyed, and end with their process while the thread polls them."""
    _set_poll_us(t, 100000)
    chaos = [t.start(guest, "/tern/vchaos -n eth0 -P 30 -S 8 -s %d" % seed, 120)
             for seed, guest in enumerate(t.guests)]
    for guest, command in zip(t.guests, chaos):
        result = command.wait()
        t.case("guest %s: no process crashes, hangs or gives up" % guest.name,
               result.rc == 0 and " 0 gave up" in result.out, result.out[-1500:])
    if t.pair == "tern-tern":
        t.check_run("QPs of one host destroyed under traffic", t.a,
                    "/tern/vrace -n eth0 -P 4 -S %d" % (3 * t.slow), 60)
    server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
    t.sleep(2)
    t.kill(client)
    t.case("client killed: the server ends too", t.finish(server, 30))


def _check_removal(t):
    """The link, then the module, is removed while the thread polls."""
    _set_poll_us(t, MAX_US)
    server, client = t.tool_start("vverify", "-m scale/mixed -S 60 -t 5", 60)
    t.sleep(2)
    t.check_run("rdma link delete under load", t.a, "rdma link delete " + t.dev(t.a), 30)
    t.case("the thread ends with the link", not _find_threads(t, t.a))
    t.case("the client ends", t.finish(client, 40))
    t.case("the server ends", t.finish(server, 60))
    driver = t.lab.driver_of(t.pair, "a")
    t.lab.add_link(t.a, driver)
    t.case("a new link has no thread", t.run(t.a, "cat " + _poll_file(t, t.a)).out == "0\n")

    _set_poll_us(t, MAX_US, t.a)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="before rmmod: ")
    t.check_run("rmmod while it polls", t.a, "rmmod tern", 30)
    t.case("the thread ends with the module", not _find_threads(t, t.a))
    t.lab.add_link(t.a, driver)
    _set_poll_us(t, 0)
    t.tool("vverify", "-m rc/write", timeout=60, prefix="afterwards, without it: ")


def run(t):
    _check_switch(t)
    _check_fewer_doorbells(t)
    _check_idle(t)
    _check_results(t)
    _check_changes(t)
    _check_destruction(t)
    _check_removal(t)
