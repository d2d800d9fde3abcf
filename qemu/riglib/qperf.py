# SPDX-License-Identifier: GPL-2.0
"""Known faults of qperf over rdma_cm (-cm 1), on any device.

The server sends its port before it listens there, so a quick client's connection is refused. Only a
new run of both helps.

A server's process also crashes after it has served a client, because it destroys its QP twice. By
then the client has its result, and the parent process goes on to serve.

Over iWARP the bandwidth tests of SENDs and WRITEs (with immediate data) end late: the server posts
no more receives while the client still has some to send, and tern waits 5 s for them.
"""


def lost_race(client):
    """Has this client lost the race?"""
    return client.rc != 0 and "RDMA CM: Event rejected" in client.out + client.err
