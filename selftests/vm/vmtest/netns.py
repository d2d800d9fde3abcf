# SPDX-License-Identifier: GPL-2.0
"""A network namespace in a guest, with a veth pair into it.

    init namespace                    namespace n1
    veth0 10.88.0.1, fd88::1 -------- veth1 10.88.0.2, fd88::2
"""

# A script; who runs it has `ip netns del n1; ip link del veth0` run at the end.
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

# tern_iwarp links on both ends.
LINKS = """rdma link add nsa type tern_iwarp netdev veth0
ip netns exec n1 rdma link add nsb type tern_iwarp netdev veth1
"""
