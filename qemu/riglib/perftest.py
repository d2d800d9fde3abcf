# SPDX-License-Identifier: GPL-2.0
"""What perftest over rdma_cm (-R) gets wrong by itself, on any device.

Client and server meet over TCP; then the client connects, and the server listens, at once. A
server that is later than its client has the connection refused, at once (siw) or by an event, and
the client crashes in its own second attempt. Only a new run of both helps.
"""

import re

TRIES = 3
# What the kernel says of the crash.
CRASH_LOG = r"ib_\w+\[\d+\].* in librdmacm"


def lost_race(client):
    """Is this client's result that of the race?"""
    return client.rc != 0 and re.search(r"RDMA_CM_EVENT_REJECTED; error: (-111|8)\b|"
                                        r"connect through RDMA CM\.\s+ERRNO: Connection refused",
                                        client.out + client.err) is not None
