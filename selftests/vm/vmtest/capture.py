# SPDX-License-Identifier: GPL-2.0
"""Packets that tcpdump captures in a guest, as a file on the host."""

import os

from . import where


class Capture:
    """A tcpdump that runs in a guest until stop()."""

    # In the guest.
    file = "/tmp/w.pcap"

    def __init__(self, t, guest, wanted, netdev="eth0", netns=None, timeout=150):
        self._t, self._guest = t, guest
        self._command = t.start(guest, "rm -f %s; exec %stcpdump -i %s -s 0 -B 16384 -U -w %s '%s'" % (
            self.file, "ip netns exec %s " % netns if netns else "", netdev, self.file, wanted),
                                timeout)
        self._command.wait_for("listening on", 20)

    def stop(self, name):
        """End it, and fetch what it has as build/vmtest/NAME.pcap; returns the path."""
        # tcpdump needs time to write the last packets.
        self._t.run(self._guest, "sleep 1.5")
        self._command.kill(2)
        self._said = self._command.wait(timeout=30).err
        os.makedirs(where.RESULTS, exist_ok=True)
        path = os.path.join(where.RESULTS, name + ".pcap")
        self._guest.pull(self.file, path)
        return path

    def check_complete(self, name):
        """A case: tcpdump lost no packet."""
        self._t.case(name, " 0 packets dropped by kernel" in
                     "\n " + self._said.replace("\n", "\n "), self._said)
