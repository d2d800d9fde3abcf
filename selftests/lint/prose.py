#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plain words: in comments of kernel/, provider/ and uapi/ and in the pages, none of the turns of
PATTERNS. They make a reader read twice. Say the subject first, then what it does.

prose.py --where lists each place; else one line a file.
"""

import re
import sys

from sources import Tree, comments, report

_START = r"(?:^|[.;!?)] +)"
PATTERNS = {
    "who (as a subject of its own)": r"(?:%s|\b(?:for|to|of|by|from|with|than|but|and|or|as|that|"
                                     r"while) )[Ww]ho\b" % _START,
    "whoever": r"\b[Ww]ho(?:so)?ever\b",
    "so many": r"\b[Ss]o many\b|\b(?:for|in|after|of|by) so (?:long|few|much|often)\b",
    "but for": r"\b[Bb]ut for\b(?! (?:example|instance))",
    "is to be": r"\b(?:is|are|was|were) (?:not )?to be\b",
    "what ... is": _START + r"What (?:[^\s.,;:?]+ ){2,9}(?:is|are|was|were) (?:not |never )?"
                            r"\w+(?:ed|en)\b",
    "for (because)": r"[,;] for (?:it|they|he|there|this|these|those|that|we) "
                     r"(?:is|are|was|were|has|have|had|does|do|can|cannot|may|must|will|would)\b",
    "inversion": _START + r"(?:So|Nor|Neither) (?:do|does|did|is|are|was|has|have|can|may|must|"
                          r"will)\b",
    "he": r"\b(?:[Hh]e|[Hh]is|[Hh]im)\b",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
# What is no prose in a page: code between fences or indented, comments, the targets of links.
_NO_PROSE = re.compile(r"^```.*?^```|<!--.*?-->|^(?: {4}|\t)[^\n]*|\]\([^)\n]*\)", re.M | re.S)
_CODE = re.compile(r"`[^`\n]*`")


def _of_page(text):
    """(line, paragraph) of a page."""
    text = _NO_PROSE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    text = _CODE.sub(lambda m: "x" * len(m[0]), text)
    line = 1
    # A row of a table, an item of a list and a heading are paragraphs of their own.
    for part in re.split(r"(\n(?=\s*(?:\n|[|#*-]|\d+\.)))", text):
        if part.strip():
            yield line, re.sub(r"^[\s*-]+", "", part)
        line += part.count("\n")


def _of_code(text):
    """(line, text) of each comment."""
    for line, comment in comments(text):
        yield line, re.sub(r"^[ \t]*(?:/\*+|\*+/?|//+)|\*/$", " ", comment, flags=re.M)


def found(path, text):
    """(line, name of a pattern, what matches) of each."""
    for line, prose in _of_page(text) if path.endswith(".md") else _of_code(text):
        flat = re.sub(r"\s+", " ", prose).strip()
        for name, pattern in _PATTERNS.items():
            for match in pattern.finditer(flat):
                yield line, name, flat[max(match.start() - 20, 0):match.end() + 20]


def complaints(tree, where=False):
    for path, text in sorted(tree.texts.items()):
        places = list(found(path, text))
        if where:
            yield from ("%s:%d: %s: ...%s..." % (path, *place) for place in places)
        elif places:
            names = [name for _, name, _ in places]
            yield "%s: %d: %s" % (path, len(places), ", ".join(
                "%d × %s" % (names.count(name), name) for name in PATTERNS if name in names))


def main():
    tree = Tree.of("kernel/**/*.[ch]", "provider/**/*.h", "provider/**/*.cc", "uapi/*.h",
                   "Documentation/**/*.md", "*.md")
    return report("prose", complaints(tree, "--where" in sys.argv), "files or places to reword")


if __name__ == "__main__":
    sys.exit(main())
