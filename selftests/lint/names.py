# SPDX-License-Identifier: GPL-2.0
"""What the pages name is there: files, functions, tests; and architecture.md's map is complete.

map        each .c file of kernel/ and .cc file of provider/ is named in architecture.md: by its
           path or, in a paragraph that names its folder, by its name, with the ending or without:
           "`roce/wire/`: `net.c`, `gid.c`", "`verbs/` (`pd cq qp`)", and so in figures
files      files and folders in backquotes and in links are in the tree
functions  those in backquotes, `like_this()`, are in the sources, if their names are of our making
tests      names behind --tests, of the last columns of threats.md and of iwarp-conformance.md
"""

import fnmatch
import os
import re

import tree as files_of
from sources import Tree

MAP = "Documentation/architecture.md"
PAGES = r"((Documentation|qemu|bench)/.*|[A-Z]+)\.md$"
SOURCE = re.compile(r"^(kernel|provider|uapi|selftests|bench|qemu|system|debian|dkms)/")
TOKEN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`|\]\(([^)#\s]+)[^)]*\)|^\[[^\]]+\]: (\S+)", re.M)
FILE = re.compile(r"^[\w./*@{},-]*\w\.(?:c|h|cc|py|inc|md|7|config|map|patch)$")
FOLDER = re.compile(r"^(?:[\w.-]+/)+$")
# Other trees' files, what stands for a name, and what a build makes.
FOREIGN = re.compile(r"^(?:linux|net|rdma|asm|include|drivers|arch|lib|mm|fs|infiniband|"
                     r"build|proc|sys|etc|usr|tmp)/|^(?:https?:|/)|NAME|NN_|VERSION|\.\.\.")
# Of a unit test, of a file.
TEST = re.compile(r"\b(?:[A-Z][a-z0-9]*){3,}\b|\b\d\d_\w+")
OURS = re.compile(r"^(?:tern|roce|rc|iw|mpa|ddp|rdmap|ack_hold|run|psn|pkt|crc32c?|icrc)_\w+$")


def everything():
    """A Tree of all text files."""
    texts = {}
    for path in files_of.files():
        try:
            texts[path] = files_of.read(path)
        except UnicodeDecodeError:
            pass
    return Tree(texts)


def _braces(token):
    found = re.match(r"(.*)\{([^{}]*)\}(.*)$", token)
    if not found:
        return [token]
    return [name for word in found[2].split(",") for name in _braces(found[1] + word + found[3])]


def _tokens(text):
    """The words in backquotes, and the targets of links."""
    for found in TOKEN.finditer(text):
        for word in (found[1] or found[2] or found[3]).split():
            yield from _braces(word.strip(",;:'\"()[]"))


class Index:
    """Which files a name may mean."""

    def __init__(self, paths):
        self.paths = paths
        self.by_name = {}
        for path in paths:
            self.by_name.setdefault(os.path.basename(path), []).append(path)
        self.folders = "".join(sorted({"\n%s/" % os.path.dirname(path) for path in paths}))

    def files(self, token):
        token = re.sub(r"^(?:\.\.?/)+", "", token)
        base = os.path.basename(token)
        names = self.by_name.get(base, []) if not re.search(r"[*?[]", base) else self.paths
        return [path for path in names if fnmatch.fnmatchcase("/" + path, "*/" + token)]

    def has_folder(self, token):
        token = re.sub(r"^(?:\.\.?/)+", "", token)
        return not token or re.search(r"(?:\n|/)%s" % re.escape(token), self.folders)


def files(tree):
    index = Index(list(tree.texts))
    for page in tree.paths(PAGES):
        for token in sorted(set(_tokens(tree.texts[page]))):
            if FOREIGN.search(token):
                continue
            if FILE.match(token) and not index.files(token):
                yield "%s: %s: no such file" % (page, token)
            elif FOLDER.match(token) and SOURCE.match(token) and not index.has_folder(token):
                yield "%s: %s: no such folder" % (page, token)


def _blocks(text):
    """Paragraphs, items of lists, rows of tables and lines of figures."""
    return re.split(r"\n(?=\s*\n|[*|#-]| {4})", text)


def file_map(tree):
    wanted = {path for path in tree.texts if re.match(r"kernel/.*\.c$|provider/.*\.cc$", path)}
    index = Index(sorted(wanted))
    named = set()
    for block in _blocks(tree.texts.get(MAP, "")):
        figure = block.strip() if block.startswith(("\n    ", "    ")) else ""
        words = [word for token in TOKEN.findall(block) for name in _braces(token[0])
                 for word in re.split(r"[\s,]+", name)] + re.split(r"[\s,:·]+", figure)
        folders = [word for word in words if FOLDER.match(word)]
        for word in words:
            if re.search(r"\.(c|cc)$", word):
                found = index.files(word)
            else:
                found = index.files(word + ".c") + index.files(word + ".cc")
            here = [path for path in found if any(
                ("/" + os.path.dirname(path) + "/").endswith("/" + folder) for folder in folders)]
            named.update(here or (found if "/" in word or len(found) == 1 and "." in word else []))
    for path in sorted(wanted - named):
        yield "%s: %s is on no map there" % (MAP, path)


def functions(tree):
    known = set()
    for path in tree.paths(SOURCE.pattern):
        if not path.endswith(".md"):
            known.update(re.findall(r"\b\w+\b", tree.texts[path]))
    for page in tree.paths(PAGES):
        # Of that page all of the column "code" is ours.
        all_ours = page.endswith("iwarp-conformance.md")
        for name in sorted(set(re.findall(r"`(\w+)\(\)`", tree.texts[page]))):
            if name not in known and (all_ours or OURS.match(name)):
                yield "%s: %s(): no such function" % (page, name)


def _last_cells(text):
    for row in re.findall(r"^\|(.+)\|\s*$", text, re.M):
        yield row.split("|")[-1]


def tests(tree):
    vm = {re.sub(r".*/\d+_|\.py$", "", path)
          for path in tree.paths(r"selftests/vm/tests/\d+_.*\.py$")}
    text = "\n".join(tree.texts[path] for path in tree.paths(r"selftests/"))
    words = set(re.findall(r"[\w/.-]+", text + " " + " ".join(tree.paths(r"selftests/"))))
    words |= {part for word in words for part in re.split(r"[/.]", word)}
    for page in tree.paths(PAGES):
        for quoted in re.findall(r"--tests ['\"]?([\w*,]+)", tree.texts[page]):
            for name in quoted.split(","):
                if not name.isupper() and not fnmatch.filter(vm, name):
                    yield "%s: --tests %s: no such test" % (page, name)
        if page.endswith("threats.md"):
            for name in sorted({name for cell in _last_cells(tree.texts[page])
                                for name in re.findall(r"`([a-z][\w/-]*)`", cell)}):
                if name not in words and name not in vm:
                    yield "%s: %s: no such test" % (page, name)
        if page.endswith("iwarp-conformance.md"):
            for name in sorted({name for cell in _last_cells(tree.texts[page])
                                for name in TEST.findall(cell)}):
                if name not in words:
                    yield "%s: %s: no such test" % (page, name)


def complaints(tree):
    yield from files(tree)
    yield from file_map(tree)
    yield from functions(tree)
    yield from tests(tree)
