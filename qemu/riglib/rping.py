# SPDX-License-Identifier: GPL-2.0
"""The shell command of an rping that is judged by its pings.

At its end rping's main thread closes the event channel that its other thread may be about to
read from; if that one comes late, rping says 'rdma_get_cm_event: Bad file descriptor' and
exits with 255, on any device. Such an end counts as good if all pings were done and verified.
Of each ping only the beginning is shown: what is wrong must not drown in data.
"""

_COMMAND = """out=$(mktemp); rping -v -V -C %(count)d %(arguments)s >"$out" 2>&1; rc=$?
cut -c-120 "$out"; pings=$(grep -c 'ping data' "$out")
[ $rc = 255 ] && grep -q 'rdma_get_cm_event: Bad file descriptor' "$out" && rc=0
rm "$out"; [ "$pings" = %(count)d ] || { echo "$pings of %(count)d pings"; exit 1; }
exit $rc"""


def rping(count, arguments):
    """`arguments` say which side it is, and where: '-s -a ADDRESS' or '-c -a ADDRESS'."""
    return _COMMAND % {"count": count, "arguments": arguments}
