# SPDX-License-Identifier: GPL-2.0
"""Reads the TAP output of the tools."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One line of TAP, with the comment lines that follow it."""
    name: str
    ok: bool
    skipped: str  # the reason, or None
    why: str


def _comments(lines):
    """The text of the comment lines at the start."""
    text = []
    for line in lines:
        if not line.startswith("# "):
            break
        text.append(line[2:])
    return "\n".join(text)


def parse(out):
    """(number of planned cases, [Case]); a missing plan is 0."""
    lines = out.splitlines()
    plan, cases = 0, []
    for i, line in enumerate(lines):
        found = re.match(r"1\.\.(\d+)$", line)
        if found:
            plan = int(found.group(1))
        found = re.match(r"(not )?ok \d+ (\S+)(?: # SKIP (.*))?", line)
        if found:
            cases.append(Case(found.group(2), not found.group(1), found.group(3),
                              _comments(lines[i + 1:])))
    return plan, cases
