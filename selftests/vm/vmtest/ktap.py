# SPDX-License-Identifier: GPL-2.0
"""KTAP, nested once: a test file is a subtest, its checks are the cases."""

import sys
import time


class Report:
    """Prints results at once, and counts the cases."""

    def __init__(self, count):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self._number = 0
        self._began = time.monotonic()
        self._say("KTAP version 1\n1..%d" % count)

    @staticmethod
    def _say(text):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def begin(self, name):
        """Start a test file."""
        self._test, self._cases, self._bad = name, 0, False
        self._since = time.monotonic()
        self._say("    KTAP version 1\n    # Subtest: " + name)

    def case(self, name, ok, detail=""):
        """One verdict."""
        self._cases += 1
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            self._bad = True
            self.failures.append("%s: %s" % (self._test, name))
        self._say("    %sok %d %s" % ("" if ok else "not ", self._cases, name))
        self.note(detail)

    def skip(self, name, why):
        """A case that cannot be tried here."""
        self._cases += 1
        self.skipped += 1
        self._say("    ok %d %s # SKIP %s" % (self._cases, name, why))

    def note(self, text):
        """A comment for people."""
        for line in str(text).splitlines():
            self._say("    # " + line.rstrip())

    def end(self):
        """End the test file."""
        self._number += 1
        self._say("    1..%d\n%sok %d %s # %.1f s" % (
            self._cases, "not " if self._bad else "", self._number, self._test,
            time.monotonic() - self._since))
        return not self._bad

    def finish(self):
        """Print the last lines; returns the exit code."""
        for failure in self.failures:
            self._say("# FAILED " + failure)
        self._say("# %.0f s" % (time.monotonic() - self._began))
        self._say("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        return 1 if self.failed or not self.passed else 0
