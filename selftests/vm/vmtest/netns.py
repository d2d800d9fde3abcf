# SPDX-License-Identifier: GPL-2.0
"""A network namespace in a guest, with a veth pair into it.

    init namespace                    namespace n1
    veth0 10.88.0.1, fd88::1 -------- veth1 10.88.0.2, fd88::2
"""

FAR = "10.88.0.2"

# A script; who runs it has DOWN run at the end.
UP = """set -e
ip netns add n1
ip link add veth0 type veth peer name veth1 netns n1
ip addr add 10.88.0.1/24 dev veth0
ip addr add fd88::1/64 dev veth0 nodad
ip netns exec n1 ip addr add 10.88.0.2/24 dev veth1
ip netns exec n1 ip addr add fd88::2/64 dev veth1 nodad
ip link set veth0 up
ip netns exec n1 ip link set lo up
ip netns exec n1 ip link set veth1 up
"""

# A script: packets to the namespace that are in pages are copied, one by one, by veth itself. To
# the sender they are gone then, as after a NIC has sent them: the stack does not know of it.
XDP = "ip netns exec n1 /tern/vxdp.py veth1"
NO_XDP = "ip -n n1 link set dev veth1 xdpdrv off"

DOWN = "ip netns del n1; ip link del veth0; true"


def links(kind):
    """A script: RDMA links of a kind on both ends, nsa and, made in the namespace, nsb."""
    return ("set -e\n"
            "rdma link add nsa type %s netdev veth0\n"
            "ip netns exec n1 rdma link add nsb type %s netdev veth1\n" % (kind, kind))


def links_up(kind):
    """A condition: programs can use them. (RoCE has GIDs of addresses, some time after the link.)"""
    if kind == "tern_iwarp":
        return "[ $(rdma link | grep -c '^link ns[ab]/1 state ACTIVE') = 2 ]"
    return ("grep -qs :0a58:0001 /sys/class/infiniband/nsa/ports/1/gids/* && "
            "grep -qs :0a58:0002 /sys/class/infiniband/nsb/ports/1/gids/*")


LINKS_GONE = "! rdma link | grep -q '^link ns[ab]/'"
