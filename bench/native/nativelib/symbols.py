# SPDX-License-Identifier: GPL-2.0
"""Names addresses of the User Mode Linux by its own /proc/kallsyms.

perf knows the symbols of the program `linux`, but not those of the modules that it has loaded.
"""

import bisect
import re

_LINE = re.compile(r"^([0-9a-f]{8,16}) [tTwW] (\S+)(?:\t\[(\S+)\])?\s*$")
_MODULE = re.compile(r"^(\S+) (\d+) \d+ \S+ Live 0x([0-9a-f]+)")
# No function is longer: an address further behind the last symbol is not in it.
_LONGEST = 1 << 16


class Symbols:
    """Made from the output of a boot with BENCH_SYMBOLS=1."""

    def __init__(self, text):
        found, self._ends = {}, {}
        for line in text.splitlines():
            match = _MODULE.match(line)
            if match:
                self._ends[match.group(1)] = int(match.group(3), 16) + int(match.group(2))
            match = _LINE.match(line)
            # Local labels and marks of the compiler are not functions.
            if match and not match.group(2).startswith((".", "$")):
                name = match.group(2), match.group(3) or "linux"
                found.setdefault(int(match.group(1), 16), name)
        self._starts = sorted(found)
        self._names = [found[start] for start in self._starts]
        own = [start for start, name in zip(self._starts, self._names) if name[1] == "linux"]
        self._ends["linux"] = max(own, default=0) + _LONGEST

    def find(self, address):
        """(symbol, module), or None."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0 or address - self._starts[at] > _LONGEST:
            return None
        name = self._names[at]
        # Another module, loaded later, may follow the last function of a module.
        return name if address < self._ends.get(name[1], 0) else None

    def range_of(self, symbol):
        """(first, end) of a function, which ends where the next one begins, or None."""
        for at, (name, _) in enumerate(self._names):
            if name == symbol and at + 1 < len(self._starts):
                return self._starts[at], self._starts[at + 1]
        return None
