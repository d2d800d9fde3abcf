# SPDX-License-Identifier: GPL-2.0
"""The sources as the checks of this folder see them: texts by path, without comments; what a C file
defines and declares; cycles in a graph.

A check takes a Tree, so selftest.py can hand it a small one that breaks a rule.
"""

import bisect
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# Comments first: a quote in one begins no string.
_TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip(text):
    """`text` with comments and what is in quotes as blanks; lines and columns stay."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m[0][0] == "/" else
                      m[0][0] + _blank(m[0][1:-1]) + m[0][0], text)


def comments(text):
    """(line, comment) of each comment."""
    for found in _TOKEN.finditer(text):
        if found[0][0] == "/":
            yield text.count("\n", 0, found.start()) + 1, found[0]


class Tree:
    """Texts by path, relative to the top of the tree."""

    def __init__(self, texts):
        self.texts = texts
        self._items = {}

    @classmethod
    def of(cls, *patterns):
        """The files of this checkout that match; ** is any folder."""
        texts = {}
        for pattern in patterns:
            for path in glob.glob(os.path.join(TOP, pattern), recursive=True):
                with open(path, encoding="utf-8") as f:
                    texts[os.path.relpath(path, TOP)] = f.read()
        return cls(texts)

    def paths(self, pattern):
        return [path for path in sorted(self.texts) if re.match(pattern, path)]

    def kernel(self, ends=(".c", ".h")):
        """The module's files, those of compat/ excepted."""
        return [path for path in self.paths(r"kernel/(?!compat/)") if path.endswith(ends)]

    def includes(self, path):
        """("name", None) or (None, <name>) of each #include."""
        return _INCLUDE.findall(COMMENT.sub("", self.texts[path]))

    def find(self, path, name):
        """The file that `path` means by "name": beside it, below kernel/ or uapi/; or None."""
        for folder in (os.path.dirname(path), "kernel", "uapi"):
            candidate = os.path.normpath(os.path.join(folder, name))
            if candidate in self.texts:
                return candidate
        return None

    def items(self, path):
        """items() of a file, remembered."""
        if path not in self._items:
            self._items[path] = list(items(self.texts[path]))
        return self._items[path]


def part_of(path):
    """The part of the module that a file belongs to: its folder, or, of a file that is in
    none, its name without the ending."""
    folder, name = os.path.split(os.path.relpath(path, "kernel"))
    return folder or os.path.splitext(name)[0]


# ---- what a file has at its outermost level ----

class Item:
    """One declaration or definition."""

    def __init__(self, kind, name, static, lines, inside=None):
        self.kind = kind                # "function", "prototype", "object", "extern"
        self.name = name
        self.static = static
        self.first, self.last = lines   # of its name, of its end
        self.inside = inside            # the struct or class that it is a member of


# What opens a level that is not a body: a namespace, or a struct or class, named or not.
_SCOPE = re.compile(r"^\s*(?:(?:inline\s+)?namespace\b[^;={(]*|extern\s*\" *\"\s*|"
                    r"(?:template\s*<[^{]*>\s*)?(?:(?:static|const|typedef)\s+)*"
                    r"(class|struct|union)\b\s*(\w+)?[^;={(]*)$", re.S)
_STOP = re.compile(r"[;{}]")
_LABEL = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
_NOT_A_NAME = {"if", "while", "for", "switch", "return", "sizeof", "__attribute__", "alignas",
               "static_assert", "decltype", "noexcept", "requires", "typeof", "__typeof__"}
# Annotations of the kernel's that look like calls.
_ANNOTATION = re.compile(r"\b(?:__(?:acquires|releases|must_hold|printf|aligned|section|"
                         r"counted_by|alloc_size|cold|attribute__)|alignas|noexcept)\s*"
                         r"\((?:[^()]|\([^()]*\))*\)")
_MACRO_CALL = re.compile(r"^\s*[A-Z][A-Z0-9_]+\s*\(")
# DEFINE_MUTEX(name), DEFINE_PER_CPU(type, name), ...
_MACRO_OBJECT = re.compile(r"\s*(?:static\s+)?(?:(?:DEFINE|DECLARE)_PER_CPU\w*\s*\([^,]*,|"
                           r"DECLARE_STATIC_KEY\w*\s*\(|DEFINE_(?!STATIC_CALL)\w+\s*\(|"
                           r"LIST_HEAD\s*\()\s*(\w+)[\s\[\],)]")
# A type, a name, then lengths of arrays, bits, a value.
_OBJECT = re.compile(r"\s*\w[\w\s,*&:<>]*?[\s*&](\w+)\s*"
                     r"(?:\[[^=]*\]\s*)*(?::\s*\d+\s*)?(?:=.*)?$", re.S)
_NO_OBJECT = re.compile(r"\s*(?:typedef|using|template|friend|enum|"
                        r"(?:struct|union|class)\s+\w+\s*$)\b")


def _name(head):
    """(name of the function that a declaration's text declares, or None, its offset)"""
    head = _ANNOTATION.sub(lambda m: _blank(m[0]), head)
    depth = 0
    for at, char in enumerate(head):
        if char == "(":
            if depth == 0:
                found = re.search(r"([\w~]+)\s*$", head[:at])
                if not found or found[1] in _NOT_A_NAME or not head[:found.start(1)].strip() \
                        or re.search(r"(?<![=!<>])=(?!=)|^\s*typedef\b", head[:at]) \
                        or re.match(r"\(\s*\*", head[at:]):
                    return None, 0
                return found[1], found.start(1)
            depth += 1
        elif char == ")":
            depth -= 1
    return None, 0


def _object(head):
    """(name of the variable that a declaration's text declares, or None, its offset)"""
    if _NO_OBJECT.match(head):
        return None, 0
    head = re.sub(r"\b__\w+\b(?!\s*[*\w])", lambda m: _blank(m[0]), head)
    found = _OBJECT.match(head)
    return (found[1], found.start(1)) if found else (None, 0)


def _end(text, at):
    """Where the brace that opens at `at` is closed."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    return len(text)


def _without_events(text):
    """Without trace events, which have statements between their parentheses."""
    for found in re.finditer(r"^(?:TRACE_EVENT|DECLARE_EVENT_CLASS|DEFINE_EVENT)\(", text, re.M):
        depth = 0
        for paren in re.compile(r"[()]").finditer(text, found.start()):
            depth += 1 if paren[0] == "(" else -1
            if not depth:
                break
        event = text[found.start():paren.end()]
        text = text[:found.start()] + _blank(event) + text[paren.end():]
    return text


def items(text):
    """Functions, prototypes and variables of C or C++ text, in order. Those of a namespace or
    class count as the outermost level's."""
    text = _without_events(_DIRECTIVE.sub(lambda m: _blank(m[0]), strip(text)))
    newlines = [found.start() for found in re.finditer("\n", text)]

    def line(at):
        return bisect.bisect_left(newlines, at) + 1

    start, scopes = 0, []
    while found := _STOP.search(text, start):
        at, head = found.start(), _LABEL.sub(lambda m: _blank(m[0]), text[start:found.start()])
        begin, start = start, at + 1
        static = bool(re.search(r"\bstatic\b", head))
        inside = next((scope for scope in scopes if scope), None)
        if found[0] == "}":
            scopes = scopes[:-1]
            continue
        if found[0] == "{" and (scope := _SCOPE.match(head)):
            scopes.append(scope[1] and (scope[2] or "?"))
            continue
        name, offset = _name(head)
        if macro := _MACRO_OBJECT.match(head):
            kind = "extern" if "DECLARE" in head else "object"
            name, offset = macro[1], macro.start(1)
        elif _MACRO_CALL.match(head):
            name = None
        elif name or found[0] == ";" or "=" in head:
            kind = "prototype" if name else "extern" if re.match(r"\s*extern\b", head) else "object"
            name, offset = (name, offset) if name else _object(head)
        if found[0] == "{":
            # A body, an initializer, an enum, or what a macro makes a function of.
            end = _end(text, at)
            start = end + 1 if "=" not in head or name and kind == "prototype" else \
                text.find(";", end) + 1 or len(text)
            kind, at = ("function" if name and kind == "prototype" else "object"), end
        if name:
            yield Item(kind, name, static, (line(begin + offset), line(at)), inside)


# ---- graphs ----

def cycles(graph):
    """The sets of two nodes or more that can all reach one another, in {node: {node}}."""
    order, seen = [], set()

    def walk(edges, root, out):
        stack = [(root, iter(sorted(edges.get(root, ()))))]
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            following = next((n for n in rest if n not in seen), None)
            if following is None:
                out.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(sorted(edges.get(following, ())))))

    for node in sorted(graph):
        if node not in seen:
            walk(graph, node, order)
    back = {}
    for node, targets in graph.items():
        for target in targets:
            back.setdefault(target, set()).add(node)
    seen.clear()
    for node in reversed(order):
        if node not in seen:
            found = []
            walk(back, node, found)
            if len(found) > 1:
                yield sorted(found)


def report(check, complaints, what):
    """Print them and how many there are; the exit status."""
    found = list(complaints)
    for line in found:
        print(line)
    print("%s: %s" % (check, "%d %s" % (len(found), what)))
    return 1 if found else 0
