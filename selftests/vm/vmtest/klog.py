# SPDX-License-Identifier: GPL-2.0
"""The lines that must never appear in a guest's kernel log."""

import re

_BAD = re.compile(r"""
    WARNING: | \bBUG\b | \bOops\b | general\ protection | Kernel\ panic | Call\ Trace
    | unable\ to\ handle | INFO:\ (task|rcu|trying\ to\ register) | rcu.*stall
    | soft\ lockup | hard\ LOCKUP | blocked\ for\ more\ than | hung_task
    | possible\ (recursive|circular|irq) | suspicious\ RCU | inconsistent\ lock
    | refcount_t | KASAN | UBSAN | kmemleak | unregister_netdevice:\ waiting
    | ODEBUG | list_(add|del)\ corruption | page\ allocation\ failure | Out\ of\ memory
    | still\ reference | restrack:\ | double\ free | bad\ page | scheduling\ while\ atomic
    | sleeping\ function | leaked | Bad\ rss | tern.*(leak|busy)
    | ref_tracker | DEBUG_LOCKS | usercopy | DMA-API | invalid\ wait\ context
    | lockdep\ is\ turned\ off
    """, re.VERBOSE)

# Lines about the emulated machine itself.
_HARMLESS = re.compile(r"tsc: |clocksource|perf: interrupt took|Tainted: loading out-of-tree"
                       r"|hrtimer: interrupt took|sched_clock")


def problems(text, allowed=()):
    """The first line of a kernel log that fails a test, with the lines after it."""
    lines = text.splitlines()
    found = []
    for i, line in enumerate(lines):
        if not _BAD.search(line) or _HARMLESS.search(line):
            continue
        if any(re.search(pattern, line) for pattern in allowed):
            continue
        found += lines[i:i + 25]
        break
    return found


def is_ours(leak):
    """Does a report of kmemleak have tern, or a module that was removed, among the callers?"""
    # Newer kernels write an address without a name in the second form.
    gone = r"\] 0xffffffffc|(?m:^\s+0x[0-9a-f]+$)"
    return "[tern]" in leak or re.search(gone, leak) is not None
