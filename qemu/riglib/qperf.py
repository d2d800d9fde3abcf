# SPDX-License-Identifier: GPL-2.0
"""What qperf over rdma_cm (-cm 1) gets wrong by itself, on any device.

The server says its port and then listens on it: a client that is quick has its connection
refused. Only a new run of both helps.

A server's process also crashes when it has served a client, destroying its QP twice. By then the
client has its result, and the server that is the parent goes on.

Over iWARP the bandwidth tests of SENDs and WRITEs (with immediate data) end late: the server posts
no more receives, the client has still some to send, and tern waits 5 s for them.
"""


def lost_race(client):
    """Is this client's result that of the race?"""
    return client.rc != 0 and "RDMA CM: Event rejected" in client.out + client.err
