# SPDX-License-Identifier: GPL-2.0
"""Marks: CNPs answer them and are heeded if the device's controller takes marks. Its files."""

from vmtest import netem

LIMIT = 120
_DIR = "/sys/class/infiniband/%s/"
_ALL = "aimd hybrid dcqcn delay bbr"
# netem marks what is ECN-capable, and drops the rest.
_MARKS = "loss 2% ecn"
_COUNTERS = ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled")
# (file, value, error of dd)
_REFUSED = (
    ("congestion_control", "nosuch", "No such file or directory"),
    ("congestion_control", "", "No such file or directory"),
    ("dcqcn_g_shift", "11", "Invalid argument"),
    ("dcqcn_rate_ns", "0", "Invalid argument"),
    ("dcqcn_rate_bytes", "none", "Invalid argument"),
)


def _read(t, guest, name):
    return t.run(guest, "cat %s%s" % (_DIR % t.dev(guest), name), check=True).out.strip()


def _write(t, guest, name, value):
    return t.run(guest, "echo '%s' | dd conv=notrunc of=%s%s" % (value, _DIR % t.dev(guest), name))


def _check_files(t):
    t.case("aimd is the default", _read(t, t.a, "congestion_control") == "aimd")
    t.case("all controllers are listed", _read(t, t.a, "available_congestion_control") == _ALL)
    for name, value, error in _REFUSED:
        before = _read(t, t.a, name)
        result = _write(t, t.a, name, value)
        t.case("%s: '%s' is refused" % (name, value), error in result.err, result.err)
        t.case("%s is as it was" % name, _read(t, t.a, name) == before)
    _write(t, t.a, "dcqcn_g_shift", 4)
    t.case("dcqcn_g_shift can be set", _read(t, t.a, "dcqcn_g_shift") == "4")
    _write(t, t.a, "dcqcn_g_shift", 8)


def _check(t, control, takes_marks):
    for guest in t.guests:
        _write(t, guest, "congestion_control", control)
    before = {guest.name: t.counters(guest) for guest in t.guests}
    for guest in t.guests:
        netem.add(t, guest, _MARKS)
    t.tool("vverify", "-m 'rc/*/both-ways' -m scale/mixed -N 4 -S 2 -t 60", timeout=180,
           prefix=control + "/")
    for guest in t.guests:
        netem.remove(t, guest)
    grown = [t.counted_since(guest, before[guest.name]) for guest in t.guests]
    for name in _COUNTERS:
        n = sum(one[name] for one in grown)
        t.case("%s: %s %s" % (control, name, "rises" if takes_marks else "does not rise"),
               (n > 0) == takes_marks, grown)
    lost = sum(one["packet_seq_err"] for one in grown)
    t.case("%s: what is marked is not dropped as well" % control, takes_marks or lost > 0, grown)


def run(t):
    if not t.is_tern:
        t.skip("marks", "rxe has no such files")
        return
    t.undo = [lambda: [_write(t, guest, "congestion_control", "aimd") for guest in t.guests],
              lambda: [netem.remove(t, guest) for guest in t.guests]]
    _check_files(t)
    for control, takes_marks in (("hybrid", True), ("dcqcn", True), ("aimd", False)):
        _check(t, control, takes_marks)
