# SPDX-License-Identifier: GPL-2.0
"""A known race of perftest over rdma_cm (-R), on any device.

Client and server first meet over TCP. Then the client connects at the same time as the server
listens. If the server is later, the connection is refused, at once (siw) or by an event, and
the client crashes in its second attempt. Only a new run of both helps.
"""

import re

TRIES = 3
# The kernel's line about the crash.
CRASH_LOG = r"ib_\w+\[\d+\].* in librdmacm"


def lost_race(client):
    """Has this client lost the race?"""
    return client.rc != 0 and re.search(r"RDMA_CM_EVENT_REJECTED; error: (-111|8)\b|"
                                        r"connect through RDMA CM\.\s+ERRNO: Connection refused",
                                        client.out + client.err) is not None
