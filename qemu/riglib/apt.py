# SPDX-License-Identifier: GPL-2.0
"""Debian's archive: each suite has a private apt root.

Mirror and keys are those of the machine's own apt (from `apt-get indextargets`, so deb822 and
one-line entries both work; archives that do not call themselves Debian are left out). Archive
uses the same mirror for any suite, with -updates, -security and -backports where they exist. It does
not change the machine's own lists.
"""

import os
import re
import tempfile
import time

from . import paths, tool
from .say import RigError, notice, progress

# Debian's releases that guests can have, by age. The last is testing: frozen mirrors serve its
# index after it has expired.
SUITES = ("bookworm", "trixie", "forky")
RELEASED = SUITES[:-1]
_PARTS = ("", "-updates", "-security", "-backports")
_FRESH_S = 24 * 3600
_JUST_NOW_S = 600

_FIELDS = ("REPO_URI", "RELEASE", "ORIGIN", "SOURCESENTRY")
_HINT = "run 'apt-get update' as root, or qemu/install-deps.sh"


def host_suite():
    """The host's Debian code name: the guests' default suite."""
    values = {}
    with open("/etc/os-release", encoding="utf-8") as f:
        for line in f:
            key, _, value = line.strip().partition("=")
            values[key] = value.strip('"')
    suite = values.get("VERSION_CODENAME")
    if values.get("ID") != "debian" or suite not in SUITES:
        raise RigError("the rig takes its guests from Debian's archive by the host's apt, and this "
                       "is %s %s; use a host or container with Debian %s"
                       % (values.get("ID", "no Debian"), suite or "", " or ".join(SUITES)))
    return suite


def _signed_by(entry):
    """The Signed-By of one configured source; `entry` is FILE:NUMBER as apt prints it."""
    path, _, number = entry.rpartition(":")
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return ""
    if path.endswith(".sources"):
        stanzas = [s for s in re.split(r"\n\s*\n", text) if re.search(r"(?mi)^uris:", s)]
        # apt counts from 0 or from 1, depending on its version. Keys never differ between one file's
        # stanzas in practice, so any stanza with a key will do.
        order = [int(number) - 1, int(number)] + list(range(len(stanzas)))
        for i in order:
            if 0 <= i < len(stanzas):
                found = re.search(r"(?mi)^signed-by:[ \t]*(\S+)[ \t]*$", stanzas[i])
                if found:
                    return found.group(1)
        return ""
    lines = text.splitlines()
    line = lines[int(number) - 1] if 0 < int(number) <= len(lines) else ""
    found = re.search(r"\[[^]]*signed-by=([^]\s]+)", line)
    return found.group(1) if found else ""


def _host_mirrors():
    """The host's sources of Debian: {"": (uri, key), "-security": (uri, key)}."""
    form = "|".join("$(%s)" % f for f in _FIELDS)
    found = {}
    for line in tool.run(["apt-get", "indextargets", "--format", form,
                          "Created-By: Packages"]).splitlines():
        target = dict(zip(_FIELDS, line.split("|")))
        if target.get("ORIGIN") != "Debian":
            continue
        part = "-security" if target["RELEASE"].endswith("-security") else ""
        if not part and target["RELEASE"].endswith(("-updates", "-backports")) and part in found:
            continue
        found[part] = (target["REPO_URI"], _signed_by(target["SOURCESENTRY"]))
    if "" not in found:
        raise RigError("apt has no package lists of Debian: " + _HINT)
    return found


def options():
    """The host's settings for downloads (proxy, retries, clock checks), for mmdebstrap."""
    wanted = re.compile(r"Acquire::(https?|Retries|Check-|ForceIPv|Queue|By-Hash)", re.I)
    return [line for line in tool.run(["apt-config", "dump"]).splitlines()
            if wanted.match(line) and not line.endswith(' "";')]


class Archive:
    """One suite of Debian's archive, with package lists of its own below the rig's folder.
    Packages are for the host's architecture, or for `arch`, as Debian calls it.

    Lists are fetched at the first use, when they are older than a day, and when a package is not in
    them. Without a network old lists are used.
    """

    def __init__(self, suite=None, arch=None):
        self.suite = suite or host_suite()
        if self.suite not in SUITES:
            raise RigError("there is no suite %s for guests, only %s"
                           % (self.suite, ", ".join(SUITES)))
        self._arch = arch
        self._name = "-".join(filter(None, (self.suite, arch)))
        self._root = os.path.join(paths.BUILD, "apt", self._name)
        self._list = os.path.join(self._root, "sources.list")
        self._stamp = os.path.join(self._root, "updated")

    # -- the lists

    def _options(self):
        """The options that make apt see only this suite, and no installed packages."""
        at = self._root + "/"
        values = (("Dir::State", at + "state"), ("Dir::State::status", at + "status"),
                  ("Dir::Cache", at + "cache"), ("Dir::Cache::pkgcache", "pkgcache.bin"),
                  ("Dir::Cache::srcpkgcache", ""), ("Dir::Etc::SourceList", self._list),
                  ("Dir::Etc::SourceParts", "/dev/null"), ("Dir::Etc::Preferences", "/dev/null"),
                  ("Dir::Etc::PreferencesParts", "/dev/null"), ("APT::Sandbox::User", "root"))
        if self._arch:
            values += (("APT::Architecture", self._arch), ("APT::Architectures", self._arch))
        return [word for name, value in values for word in ("-o", "%s=%s" % (name, value))]

    def _apt(self, program, *words, **how):
        return tool.run([program] + self._options() + list(words), **how)

    def _age_s(self):
        """Seconds since the lists were fetched; infinite if they never were."""
        try:
            return time.time() - os.stat(self._stamp).st_mtime
        except OSError:
            return float("inf")

    def _write(self, parts):
        mirrors = _host_mirrors()
        lines = []
        for part in parts:
            if part == "-security" and part not in mirrors:
                continue
            uri, key = mirrors["-security" if part == "-security" else ""]
            marks = ["signed-by=" + key] if key and os.path.exists(key) else []
            if self.suite == SUITES[-1]:
                marks.append("check-valid-until=no")
            option = " [%s]" % " ".join(marks) if marks else ""
            lines.append("deb%s %s %s main\n" % (option, uri, self.suite + part))
        with open(self._list, "w", encoding="ascii") as f:
            f.writelines(lines)

    def _fetch(self):
        for folder in ("state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self._root, folder), exist_ok=True)
        with open(os.path.join(self._root, "status"), "w", encoding="ascii"):
            pass
        self._write(_PARTS)
        progress("fetching the package lists of Debian " + self.suite)
        try:
            self._apt("apt-get", "update", "-q", limit_s=300)
        except RigError as error:
            # A suite may lack a part (testing has no backports), which is left out. All other
            # failures are errors.
            absent = {suite[len(self.suite):] for suite in
                      re.findall(r"(\S+) Release' does not have a Release file", str(error))}
            if not absent or "" in absent:
                raise
            self._write([part for part in _PARTS if part not in absent])
            self._apt("apt-get", "update", "-q", limit_s=300)
        with open(self._stamp, "w", encoding="ascii"):
            pass

    def refresh(self, older_s=_JUST_NOW_S):
        """Fetch the lists if they are older than that. True if they were fetched."""
        if self._age_s() <= older_s:
            return False
        os.makedirs(self._root, exist_ok=True)
        with paths.locked("apt-" + self._name):
            if self._age_s() <= older_s:
                return True
            try:
                self._fetch()
            except RigError as error:
                if self._age_s() == float("inf"):
                    raise
                notice("the package lists of %s stay as they are: %s" % (self.suite, error))
                os.utime(self._stamp)
                return False
        return True

    def sources(self):
        """One-line apt sources of this suite, as mmdebstrap takes them."""
        self.refresh(_FRESH_S)
        with open(self._list, encoding="ascii") as f:
            return f.read().splitlines()

    # -- packages

    def _policy(self, names):
        found, current = {}, None
        for line in self._apt("apt-cache", "policy", *sorted(names)).splitlines():
            if line and not line[0].isspace():
                current = line.rstrip(":")
            elif line.strip().startswith("Candidate:") and "(none)" not in line:
                found[current] = line.split(":", 1)[1].strip()
        return found

    def candidates(self, names):
        """{name: version} of those packages that the suite has."""
        self.refresh(_FRESH_S)
        found = self._policy(names)
        if len(found) < len(set(names)) and self.refresh():
            found = self._policy(names)
        return found

    def names(self, prefix):
        """The names of the suite's available packages with this prefix."""
        self.refresh(_FRESH_S)
        names = self._apt("apt-cache", "pkgnames", prefix).split()
        return sorted(self._policy(names)) if names else []

    def depends(self, package):
        """The names of the packages that it depends on, first alternatives only."""
        self.refresh(_FRESH_S)
        text = self._apt("apt-cache", "show", "--no-all-versions", package)
        names = []
        for line in text.splitlines():
            field, _, value = line.partition(": ")
            if field in ("Depends", "Pre-Depends"):
                names += [re.match(r"[^\s:(|]+", one.strip()).group(0)
                          for one in value.split(",") if one.strip()]
        return names

    def download(self, package, folder):
        """Fetch a package (or NAME=VERSION, NAME/RELEASE) into a folder; returns its path."""
        self.refresh(_FRESH_S)
        before = set(os.listdir(folder))
        try:
            self._download(package, folder)
        except RigError:
            # Old lists may have versions that the mirror no longer has.
            if not self.refresh():
                raise
            self._download(package, folder)
        new = [name for name in os.listdir(folder) if name not in before and name.endswith(".deb")]
        if len(new) != 1:
            raise RigError("apt-get download %s left %d packages in %s"
                           % (package, len(new), folder))
        return os.path.join(folder, new[0])

    def _download(self, package, folder):
        self._apt("apt-get", "download", "-q", package, limit_s=600, cwd=folder,
                  what="apt-get download %s (Debian %s)" % (package, self.suite))

    def unpack(self, packages, root):
        """Fetch packages and unpack them in a root, in this order, without installing. All files become
        ours. A symbolic link to a folder in the root stays a link."""
        os.makedirs(root, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="packages.", dir=root) as work:
            files = [self.download(name, work) for name in packages]
            for path in files:
                tool.run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$1" '
                          '--no-same-owner --keep-directory-symlink', path, root],
                         what="unpacking " + os.path.basename(path), limit_s=300)

    def fetch(self, packages, folder, status):
        """Fetch packages and their dependencies, without those installed by the dpkg file `status`."""
        self.refresh(_FRESH_S)
        self._apt("apt-get", "-o", "Dir::State::status=" + status,
                  "-o", "Dir::Cache::archives=" + folder, "-o", "Debug::NoLocking=true",
                  "-o", "APT::Install-Recommends=0",
                  "-o", "APT::Keep-Downloaded-Packages=1",
                  "install", "--download-only", "-y", "-q", *packages, limit_s=1200,
                  what="apt-get install --download-only (Debian %s)" % self.suite)

    def choose(self, path):
        """The packages of a list file: the first available one of each line's alternatives."""
        wanted = package_list(path)
        offered = self.candidates({name for names, _ in wanted for name in names})
        chosen = set()
        for names, optional in wanted:
            there = [name for name in names if name in offered]
            if there:
                chosen.add(there[0])
            elif optional:
                progress("left out, Debian %s has no %s" % (self.suite, " | ".join(names)))
            else:
                raise RigError("Debian %s has no %s (of %s): does the mirror have it whole?"
                               % (self.suite, " | ".join(names), os.path.relpath(path)))
        return sorted(chosen)


def package_list(path):
    """The lines of a list file, [(names, optional)]: "a | b" is a choice, "a?" is optional."""
    packages = []
    with open(path, encoding="ascii") as f:
        for line in f:
            text = line.split("#", 1)[0].strip()
            if text:
                names = [name.strip() for name in text.rstrip("?").split("|")]
                packages.append((names, text.endswith("?")))
    return packages
