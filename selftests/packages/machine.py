# SPDX-License-Identifier: GPL-2.0
"""The guest as the cases use it: commands that are verdicts, and its files."""

import re

# Where files change without tern: run-time files, logs, the records of apt and dpkg, and their daily
# copies.
_ELSEWHERE = "proc|sys|run|dev|tmp|share|root|var/(backups|log|cache|tmp|lib/(apt|dpkg|systemd|ucf))"


class Machine:
    """One guest; `old` and `new` are the versions of the packages, `other` the second kernel."""

    def __init__(self, guest, report, release, other, versions):
        self.guest, self._report = guest, report
        self.release, self.other = release, other
        self.old, self.new = versions
        # A folder of modules that DKMS uses instead of compiling, or None.
        self.prebuilt = None

    def case(self, name, ok, detail=""):
        """A verdict without a command."""
        self._report.case(name, bool(ok), "" if ok else detail)
        return bool(ok)

    def run(self, command, timeout=60):
        """A command without a verdict."""
        return self.guest.run(command, timeout=timeout)

    def check(self, name, command, timeout=60, rc=0, says=""):
        """A case: a command ends with `rc` (None: not 0), and its output matches `says`."""
        result = self.run(command, timeout)
        text = result.out + result.err
        ended = result.rc == rc if rc is not None else 0 < result.rc < 124
        found = re.search(says, text)
        self.case(name, ended and found, "exit %d, wanted %s%s\n%s\n%s" % (
            result.rc, "a failure" if rc is None else rc,
            "" if found else "; nothing matches " + says, command, text[-1500:]))
        return text

    def until(self, name, command, timeout=20):
        """A case: the command succeeds within the timeout."""
        self.check(name, "for i in $(seq %d); do { %s; } && exit; sleep 0.5; done; exit 1"
                   % (2 * timeout, command), timeout * 4)

    def packaged(self):
        """The files of all packages, those in /lib also as in /usr/lib, and so on."""
        listed = self.run("cat /var/lib/dpkg/info/*.list", 120).out.splitlines()
        return set(listed) | {"/usr" + path for path in listed}

    def files(self):
        """All files, without those that change at run time."""
        # /usr/lib/modules is a file system of its own.
        listed = self.run(r"find / /usr/lib/modules -xdev -regextype posix-extended -regex '/(%s)' "
                          r"-prune -o ! -type d -print" % _ELSEWHERE, 120).out
        return set(listed.splitlines())
