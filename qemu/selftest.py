#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the rig itself: KTAP on stdout, last line 'N passed, N failed', exit 0 if none failed.

selftest.py [--native | --kernel KERNEL]: with User Mode Linux, or with another kernel.
One rig of two guests is used by most tests; the last ones crash it. tern is not used: rxe, the
kernel's own driver, shows that RDMA works between the guests.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
os.environ.setdefault("RIG_QUIET", "1")

from riglib import (GuestLost, Rig, RigError, apt, buildroot, kernel, paths, state,  # noqa: E402
                    userland)

NAME = "selftest%d" % os.getpid()
KERNEL = None  # the default kernel
COMMAND = os.path.join(os.path.dirname(os.path.realpath(__file__)), "rig")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def rig_command(*words, limit_s=60):
    return subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=limit_s, check=False, universal_newlines=True)


@test
def streams_exit_codes_and_environment(r):
    done = r["a"].run('echo out; echo err >&2; echo "$X"; exit 7', env={"X": "a b"})
    assert (done.rc, done.out, done.err) == (7, "out\na b\n", "err\n"), done
    assert r["a"].run(["printf", "%s", "a  b"]).out == "a  b"
    assert r["a"].run(["no-such-program"]).rc == 127
    assert r["a"].run("kill -9 $$").rc == 137
    assert r["a"].run("cat; echo end", stdin="in\n").out == "in\nend\n"
    assert r["a"].run("hostname; cat /sys/class/net/eth0/mtu").out == "a\n1500\n"


@test
def commands_run_side_by_side(r):
    # Each waits until all have started: if they ran one after another they would never end.
    meet = ("touch /tmp/meet.%d; until [ $(ls /tmp/meet.* | wc -l) = 8 ]; do sleep 0.2; done; "
            "echo %d")
    many = [r["b"].start(meet % (i, i), timeout=30) for i in range(8)]
    assert [c.wait().out for c in many] == ["%d\n" % i for i in range(8)]


@test
def output_is_seen_before_the_end(r):
    command = r["a"].start("echo ready; exec sleep 60")
    command.wait_for("ready", timeout=10)
    assert command.running
    command.kill()
    assert command.wait().rc == 137


@test
def time_limit_kills_the_process_group(r):
    done = r["a"].run("sleep 977 & sleep 978", timeout=1)
    assert done.timed_out and done.rc == 124 and done.seconds < 8, done
    assert r["a"].run(["pgrep", "-f", "sleep 97[78]"]).rc == 1


@test
def killed_is_who_has_ended_with_the_whole_group(r):
    # The first process of a PID namespace ends only when all processes in it are reaped. The process
    # that has to reap the last one is in a group of its own, and stopped.
    command = r["a"].start("unshare --pid --fork sleep 981 & wait")
    r["a"].wait_until(["pgrep", "-f", "^sleep 981"], timeout=15)
    other = r["a"].start("exec nsenter --pid --target $(pgrep -f '^sleep 981') sleep 982")
    r["a"].wait_until(["pgrep", "-f", "^sleep 982"], timeout=15)
    r["a"].run("pkill -STOP -x nsenter", check=True)
    command.kill()
    time.sleep(1)
    assert command.running
    r["a"].run("pkill -CONT -x nsenter", check=True)
    assert command.wait(timeout=30).rc == 137
    assert other.wait(timeout=30).rc == 137


@test
def hanging_up_kills_the_command(r):
    child = subprocess.Popen([COMMAND, "run", "--name", NAME, "a", "--", "sleep", "979"])
    r["a"].wait_until(["pgrep", "-f", "^sleep 979"], timeout=15)
    child.kill()  # it cannot clean up
    child.wait(10)
    r["a"].wait_until("! pgrep -f '^sleep 979'", timeout=15)
    assert r["a"].run(["echo", "fine"]).out == "fine\n"


@test
def twenty_megabytes_there_and_back(r):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "blob")
        with open(path, "wb") as f:
            f.write(os.urandom(20_000_000))
        began = time.monotonic()
        r["a"].push(path, "/root/there/")
        pushed = time.monotonic()
        r["a"].pull("/root/there/blob", path + ".back")
        print("# push %.1f s, pull %.1f s" % (pushed - began, time.monotonic() - pushed))
        with open(path, "rb") as f, open(path + ".back", "rb") as g:
            assert f.read() == g.read()
        r["a"].run("rm -r /root/there", check=True)
        os.mkdir(os.path.join(folder, "tree"))
        with open(os.path.join(folder, "tree", "script"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho ran\n")
        os.chmod(f.name, 0o755)
        r["a"].push(os.path.join(folder, "tree"), "/root/new/name")
        assert r["a"].run(["/root/new/name/script"]).out == "ran\n"


@test
def kernel_log_since_a_mark(r):
    mark = r["a"].dmesg_mark()
    r["a"].run("echo '<4>hello-log' >/dev/kmsg", check=True)
    lines = r["a"].dmesg_since(mark).splitlines()
    assert len(lines) == 1 and "hello-log" in lines[0], lines


@test
def guests_reach_each_other_and_nothing_else(r):
    assert r["a"].run("ping -c 2 -W 5 b && ping -c 2 -W 5 fd77::2", timeout=30).ok
    assert r["a"].run("ip route; ip -6 route").out.find("default") < 0


@test
def rdma_between_the_guests(r):
    both = [guest.start("modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0")
            for guest in r]
    for command in both:
        command.wait(check=True)
    for guest in r:
        guest.wait_until("cat /sys/class/infiniband/rxe0/ports/1/gids/* | grep -q ffff:0a4d", 10)
        assert "rxe0" in guest.run("ibv_devices", check=True).out
    server = r["b"].start("exec ibv_rc_pingpong -d rxe0 -g 1 -n 200", timeout=40)
    r["b"].wait_listening(18515)
    done = r["a"].run("exec ibv_rc_pingpong -d rxe0 -g 1 -n 200 b", timeout=40, check=True)
    assert "200 iters" in done.out and server.wait(check=True).ok
    server = r["b"].start("exec ib_write_bw -d rxe0 -x 1 -n 100 -s 4096", timeout=40)
    r["b"].wait_listening(18515)
    done = r["a"].run("exec ib_write_bw -d rxe0 -x 1 -n 100 -s 4096 b", timeout=40, check=True)
    print("# " + done.out.strip().splitlines()[-2].strip())


@test
def command_line_tool(r):
    done = rig_command("run", "--name", NAME, "b", "--", "sh", "-c", "echo $RIG_NAME; exit 3")
    assert (done.returncode, done.stdout) == (3, "b\n"), done
    assert rig_command("status", "--name", NAME).returncode == 0
    assert NAME in rig_command("list").stdout
    assert "a b" in rig_command("list").stdout
    nothing = rig_command("run", "--name", "no-such-rig", "a", "true")
    assert nothing.returncode == 125 and "rig up" in nothing.stderr, nothing
    again = rig_command("up", "--name", NAME, *(["--kernel", KERNEL] if KERNEL else []))
    assert again.returncode == 125 and "up already" in again.stderr, again


@test
def a_second_rig_side_by_side(r):
    bridged = not os.geteuid() and os.path.exists("/dev/net/tun") and not r["a"].native
    kind = "bridge" if bridged else "stream"
    with Rig(name=NAME + "2", guests=2, net=kind, mtu=4200, mem=512, kernel=KERNEL) as other:
        assert other["a"].run("ping -c 1 -W 5 -s 4000 -M do b; cat /sys/class/net/eth0/mtu",
                              timeout=20).out.endswith("\n4200\n")
        features = other["a"].run("ethtool -k eth0").out
        assert ("tx-checksumming: on" in features) == bridged, features
        assert r["a"].run("cat /sys/class/net/eth0/mtu").out == "1500\n"
        processes = [guest.process for guest in other]
    assert not any(map(state.alive, processes))
    assert not os.path.exists("/run/netns/rig-%s2" % NAME)
    assert r["a"].run("true").ok


def host_suite_and_another():
    own = apt.host_suite()
    return own, next(suite for suite in apt.RELEASED if suite != own)


@test
def every_suite_has_the_packages_that_are_listed(_):
    for suite in apt.SUITES:
        archive = apt.Archive(suite)
        for path in (userland.PACKAGES, userland.SYSTEMD, buildroot.PACKAGES):
            chosen = archive.choose(path)
            # Exactly one of several alternatives, and all that is not optional.
            for names, optional in apt.package_list(path):
                there = [name for name in names if name in chosen]
                assert len(there) == 1 or (optional and not there), (suite, names, there)


@test
def another_suite_has_its_own_kernel_and_userland(_):
    _, other = host_suite_and_another()
    with Rig(name=NAME + "3", guests=1, mem=512, suite=other) as guests:
        done = guests["a"].run(". /etc/os-release; echo $VERSION_CODENAME; uname -r", check=True)
    assert done.out.split() == [other, kernel.choose(None, other)], done


@test
def a_build_root_builds_for_its_suite_and_leaves_the_checkout_alone(_):
    _, other = host_suite_and_another()
    with tempfile.TemporaryDirectory() as out:
        text = buildroot.run(other, ". /etc/os-release; echo $VERSION_CODENAME >/out/suite; "
                             "touch /src/not-here 2>&1; cat /src/VERSION", out)
        with open(os.path.join(out, "suite"), encoding="ascii") as f:
            assert f.read().strip() == other
    assert "Read-only" in text or os.geteuid(), text
    assert not os.path.exists(os.path.join(paths.CHECKOUT, "not-here"))
    try:
        buildroot.run(other, "echo why; exit 3", out)
        raise AssertionError("a failure went unnoticed")
    except RigError as error:
        assert "why" in str(error) and "exit 3" in str(error), error
    finally:
        shutil.rmtree(out, ignore_errors=True)


@test
def a_systemd_guest_reboots_and_keeps_its_files(_):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "here"), "w", encoding="ascii") as f:
            f.write("shared\n")
        with Rig(name=NAME + "4", guests=2, systemd=True, share=folder) as guests:
            a, b = guests
            assert a.run("cat /proc/1/comm /share/here").out == "systemd\nshared\n"
            assert a.run("systemctl is-active systemd-udevd").out == "active\n"
            boot_id = a.run("cat /proc/sys/kernel/random/boot_id; echo kept >/etc/kept").out
            a.reboot()
            done = a.run("cat /etc/kept /proc/sys/kernel/random/boot_id", check=True)
            assert done.out.startswith("kept\n") and boot_id not in done.out, done
            assert b.run("ping -c 2 -W 5 a && cat /proc/1/comm", timeout=30).ok


@test
def a_guest_without_a_disk_says_that_it_cannot_reboot(r):
    try:
        r["a"].reboot()
    except RigError as error:
        assert "systemd" in str(error), error
    else:
        raise AssertionError("it rebooted")
    assert r["a"].run("true").ok


@test
def a_hang_is_reported_with_its_place(r):
    # A real-time loop on each CPU: nothing else runs, not even the agent. Newer kernels still give others
    # a share, unless root switches that off.
    began = time.monotonic()
    lost = expect_lost(r["b"], "echo -1 >/proc/sys/kernel/sched_rt_runtime_us; "
                       "for s in /sys/kernel/debug/sched/fair_server/*/runtime; do "
                       "[ ! -e $s ] || echo 0 >$s; done; for i in $(seq $(nproc)); do "
                       "chrt -f 99 python3 -c 'while True: pass' & done; wait")
    assert lost.kind == "hang" and "python3" in lost.summary, lost
    assert time.monotonic() - began < 60 * r["b"].slow
    print("# %s, after %.0f s" % (lost.summary, time.monotonic() - began))


@test
def a_panic_is_reported_with_its_cause(r):
    began = time.monotonic()
    lost = expect_lost(r["a"], "sleep 1; echo c >/proc/sysrq-trigger; sleep 30")
    assert lost.kind == "panic" and "sysrq" in lost.tail, lost
    assert time.monotonic() - began < 30 * r["a"].slow
    print("# %s" % lost.summary)
    assert rig_command("status", "--name", NAME).returncode == 1


def expect_lost(guest, what):
    try:
        guest.run(what, timeout=60)
    except GuestLost as lost:
        return lost
    raise AssertionError("the guest survived")


def main():
    global KERNEL
    words = sys.argv[1:]
    if "-h" in words or "--help" in words:
        print("usage: selftest.py [--native | --kernel KERNEL] [WORD...]    only tests whose names "
              "have one of the words\n\n" + __doc__)
        return 0
    if words[:1] == ["--native"]:
        KERNEL, words = "native", words[1:]
    elif words[:1] == ["--kernel"] and len(words) > 1:
        KERNEL, words = words[1], words[2:]
    if words:
        TESTS[:] = [one for one in TESTS if any(word in one.__name__ for word in words)]
    print("KTAP version 1\n1..%d" % len(TESTS))
    passed, began = 0, time.monotonic()
    rig = Rig(name=NAME, mem=512, kernel=KERNEL)
    try:
        rig.up()
        print("# up in %.1f s" % (time.monotonic() - began))
        processes = [guest.process for guest in rig]
        for number, function in enumerate(TESTS, 1):
            start, why = time.monotonic(), ""
            try:
                function(rig)
                passed += 1
            except (AssertionError, RigError, OSError, subprocess.SubprocessError):
                why = traceback.format_exc()
            print("%sok %d %s # %.1f s" % ("not " if why else "", number, function.__name__,
                                           time.monotonic() - start))
            sys.stdout.write("".join("# %s\n" % line for line in why.splitlines()))
            sys.stdout.flush()
        rig.down()
        assert not any(map(state.alive, processes)), "a process survived 'down'"
    except RigError as error:
        print("Bail out! " + str(error).replace("\n", "\n# "))
    finally:
        rig.down()
    print("# %.0f s" % (time.monotonic() - began))
    print("%d passed, %d failed" % (passed, len(TESTS) - passed))
    return 0 if passed == len(TESTS) else 1


if __name__ == "__main__":
    sys.exit(main())
