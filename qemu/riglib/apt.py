# SPDX-License-Identifier: GPL-2.0
"""What the machine's own apt knows: which Debian mirror, suites, components and keys to use.

The rig names no host. apt itself is asked (`apt-get indextargets`), so deb822 and
one-line entries are alike to it; entries whose archive does not call itself Debian are left out.
"""

import os
import re

from . import tool
from .say import RigError

_FIELDS = ("REPO_URI", "RELEASE", "COMPONENT", "ORIGIN", "CODENAME", "SOURCESENTRY", "ARCHITECTURE")
_HINT = "run 'apt-get update' as root, or qemu/install-deps.sh"


def host_suite():
    """The host's Debian code name: guests run the same suite as the host that builds for them."""
    values = {}
    with open("/etc/os-release", encoding="utf-8") as f:
        for line in f:
            key, _, value = line.strip().partition("=")
            values[key] = value.strip('"')
    if values.get("ID") != "debian" or "VERSION_CODENAME" not in values:
        raise RigError("the rig builds its guests from the host's own Debian suite, and this is "
                       "%s; use a Debian 12 host or container" % values.get("ID", "no Debian"))
    return values["VERSION_CODENAME"]


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
        # apt counts from 0 or from 1, by version; keys never differ between one file's
        # stanzas in practice, so any stanza that names one will do.
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


def debian_sources():
    """One-line apt sources for the host's suite, with its -updates, -security, -backports."""
    suite = host_suite()
    form = "|".join("$(%s)" % f for f in _FIELDS)
    seen = {}
    for line in tool.run(["apt-get", "indextargets", "--format", form,
                          "Created-By: Packages"]).splitlines():
        target = dict(zip(_FIELDS, line.split("|")))
        if target.get("ORIGIN") not in ("Debian", "Debian Backports"):
            continue
        if not re.fullmatch(re.escape(suite) + r"(-(updates|security|backports))?",
                            target["CODENAME"]):
            continue
        key = (target["REPO_URI"], target["RELEASE"])
        seen.setdefault(key, (set(), _signed_by(target["SOURCESENTRY"])))[0].add(
            target["COMPONENT"])
    if not any(release == suite for _, release in seen):
        raise RigError("apt has no package lists of Debian %s: %s" % (suite, _HINT))
    lines = []
    for (uri, release), (components, key) in sorted(seen.items(), key=lambda item: item[0][1]):
        option = " [signed-by=%s]" % key if key and os.path.exists(key) else ""
        lines.append("deb%s %s %s %s" % (option, uri, release, " ".join(sorted(components))))
    return lines


def options():
    """The host's settings for fetching (proxy, retries, clock checks), to pass on to mmdebstrap."""
    wanted = re.compile(r"Acquire::(https?|Retries|Check-|ForceIPv|Queue|By-Hash)", re.I)
    return [line for line in tool.run(["apt-config", "dump"]).splitlines()
            if wanted.match(line) and not line.endswith(' "";')]


def candidates(names):
    """Of these package names, those that apt can install: {name: version}."""
    found, current = {}, None
    for line in tool.run(["apt-cache", "policy"] + sorted(names)).splitlines():
        if line and not line[0].isspace():
            current = line.rstrip(":")
        elif line.strip().startswith("Candidate:") and "(none)" not in line:
            found[current] = line.split(":", 1)[1].strip()
    return found


def package_list(path):
    """The packages a list file names: [(name, optional)]."""
    packages = []
    with open(path, encoding="ascii") as f:
        for line in f:
            name = line.split("#", 1)[0].strip()
            if name:
                packages.append((name.rstrip("?"), name.endswith("?")))
    return packages
