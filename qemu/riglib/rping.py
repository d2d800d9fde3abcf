# SPDX-License-Identifier: GPL-2.0
"""The shell command of an rping whose result is its number of pings.

At its end rping's main thread closes the event channel while its other thread may be about to
read from it. Then rping prints 'rdma_get_cm_event: Bad file descriptor' and exits with 255, on any
device. That is a success if all pings were done and verified. Only the start of each ping is shown, so
that errors stand out.
"""

_COMMAND = """out=$(mktemp); rping -v -V -C %(count)d %(arguments)s >"$out" 2>&1; rc=$?
cut -c-120 "$out"; pings=$(grep -c 'ping data' "$out")
[ $rc = 255 ] && grep -q 'rdma_get_cm_event: Bad file descriptor' "$out" && rc=0
rm "$out"; [ "$pings" = %(count)d ] || { echo "$pings of %(count)d pings"; exit 1; }
exit $rc"""


def rping(count, arguments):
    """`arguments`: the side and the address, '-s -a ADDRESS' or '-c -a ADDRESS'."""
    return _COMMAND % {"count": count, "arguments": arguments}
