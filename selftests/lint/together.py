#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""together.py FILE.cc ...: prints one source that includes them all, for clang-tidy.

What several of them define, each for itself, gets a name of its own in each. The headers come first,
so that these names are left alone in there.
"""

import os
import re
import sys
from collections import Counter

# At the start of a line: a function, a constant, a type.
_DEFINED = re.compile(r"^(?:[A-Za-z][\w:<>,*& ]*[ *&](\w+)(?:\(|\[|\{| =)|"
                      r"(?:struct|class|enum) (?:class )?(\w+) )", re.M)
_INCLUDE = re.compile(r'^#include [<"](.*)[>"]', re.M)


def _read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def _defined(text):
    return {function or kind for function, kind in _DEFINED.findall(text)}


def main():
    texts = {path: _read(path) for path in map(os.path.abspath, sys.argv[1:])}
    headers = {}
    for path, text in texts.items():
        for name in _INCLUDE.findall(text):
            beside = os.path.join(os.path.dirname(path), name)
            headers[name] = beside if os.path.exists(beside) else name
    counts = Counter(name for text in texts.values() for name in _defined(text))
    # What a header declares keeps its name; so do members, which may be of a header's type (but
    # those are no constants).
    shared = {name for header in headers.values() if os.path.isabs(header)
              for name in _defined(_read(header))}
    members = set(re.findall(r"(?:\.|->)(?!k[A-Z])(\w+)", "".join(texts.values())))
    names = sorted(name for name, count in counts.items()
                   if count > 1 and name not in shared | members)
    for header in headers.values():
        print(('#include "%s"' if os.path.isabs(header) else "#include <%s>") % header)
    for number, path in enumerate(texts):
        for name in names:
            print("#define %s %s_%d" % (name, name, number))
        print('#include "%s"' % path)
        for name in names:
            print("#undef " + name)


main()
