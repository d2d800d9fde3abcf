# SPDX-License-Identifier: GPL-2.0
"""The cases of conformance with the kernel's rxe and siw: what fails there, or is refused, beside tern's."""

from vmtest import conformance, tap

LONG = True
PAIRS = ("tern-rxe", "iwarp-siw")
LIMIT = 3000
# A peer's provider may crash on what it should refuse.
_CRASHES = 30
# GoogleTest's arguments: the names of all cases are too long for a command line.
_FLAGS = "/tmp/conform.flags"


def _word(case):
    if case.skipped is not None:
        return "refused"
    return "ok" if case.ok else "fails"


def _reason(case):
    lines = (case.skipped or case.why or "").splitlines()
    return lines[0][:110] if lines else ""


def _names(t, guest):
    """All cases, in their order."""
    names, group = [], ""
    for line in t.run(guest, "/tern/vconform --gtest_list_tests --gtest_filter=-" + conformance.APART,
                      check=True).out.splitlines():
        if line.startswith(" "):
            names.append(group + line.strip())
        else:
            group = line.strip()
    return names


def _by_name(t, guest):
    """{name: Case} of the suite. If a case crashes it, the suite is run again for those behind it."""
    names, cases = _names(t, guest), {}
    for _ in range(_CRASHES):
        guest.write(_FLAGS, "--gtest_filter=*-%s:%s\n" % (conformance.APART, ":".join(cases)))
        result, plan, more = conformance.run(t, guest, "--gtest_flagfile=" + _FLAGS, timeout=1500)
        cases.update((case.name, case) for case in more)
        if plan and len(more) == plan:
            break
        crashed = next((name for name in names if name not in cases), None)
        if not crashed:
            break
        cases[crashed] = tap.Case(crashed, False, None, "the suite ends here, exit %d" % result.rc)
    return cases


def run(t):
    for guest in t.guests:
        conformance.load_exporter(t, guest)
    ours, theirs = _by_name(t, t.a), _by_name(t, t.b)
    peer = t.lab.driver_of(t.pair, "b")
    for name in ours:
        other = theirs.get(name)
        if other and _word(other) != "ok":
            t.note("%-70s tern %-8s %s %-8s %s" % (name, _word(ours[name]), peer, _word(other),
                                                   _reason(other)))
    for driver, cases in (("tern", ours), (peer, theirs)):
        words = [_word(case) for case in cases.values()]
        t.note("%s: %s" % (driver, ", ".join("%d %s" % (words.count(word), word)
                                             for word in ("ok", "fails", "refused"))))
    lacking = [name for name, case in ours.items() if _word(case) != "ok" and
               name in theirs and _word(theirs[name]) == "ok"]
    t.case("%s does nothing that tern does not" % peer, ours and not lacking, "\n".join(lacking))
    t.case("all cases of %s are known" % peer, len(theirs) == len(ours), "%d of %d" % (
        len(theirs), len(ours)))
