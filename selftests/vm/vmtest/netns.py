# SPDX-License-Identifier: GPL-2.0
"""A network namespace n1 in guest a, with a veth pair into it, and programs in there.

    init namespace                    namespace n1
    veth0 10.88.0.1, fd88::1 -------- veth1 10.88.0.2, fd88::2
"""

FAR = "10.88.0.2"

# A script. The test has to run DOWN at the end.
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

# A script: veth itself copies each packet with pages that goes to the namespace. For the sender the
# packet is gone then, as after a NIC has sent it: the stack does not know of the copy.
XDP = "ip netns exec n1 /tern/vxdp.py veth1"
NO_XDP = "ip -n n1 link set dev veth1 xdpdrv off"

DOWN = "ip netns del n1; ip link del veth0; true"


def links(kind):
    """A script: RDMA links of a kind on both ends, nsa and, made in the namespace, nsb."""
    return ("set -e\n"
            "rdma link add nsa type %s netdev veth0\n"
            "ip netns exec n1 rdma link add nsb type %s netdev veth1\n" % (kind, kind))


def links_up(kind):
    """A shell condition: programs can use both links. RoCE's GIDs come some time after the link."""
    if kind == "tern_iwarp":
        return "[ $(rdma link | grep -c '^link ns[ab]/1 state ACTIVE') = 2 ]"
    return ("grep -qs :0a58:0001 /sys/class/infiniband/nsa/ports/1/gids/* && "
            "grep -qs :0a58:0002 /sys/class/infiniband/nsb/ports/1/gids/*")


LINKS_GONE = "! rdma link | grep -q '^link ns[ab]/'"


def add_links(t, kind, timeout=10):
    """Add both links, and wait until programs can use them."""
    t.run(t.a, links(kind), check=True)
    t.a.wait_until(links_up(kind), timeout=timeout)


def start_server(t, tool="vverify", device="-d nsb", timeout=100):
    """Start a tool's server in n1, and wait until it listens."""
    server = t.start(t.a, "ip netns exec n1 /tern/%s %s" % (tool, device), timeout)
    t.wait_port(t.a, t.TOOL_PORT, netns="n1")
    return server


def start_pair(t, client, device="-d nsb"):
    """Start vverify in n1 and, with the words of `client`, in a; returns (server, client)."""
    server = start_server(t, device=device)
    return server, t.start(t.a, "/tern/vverify " + client, 100)


def verify(t, client, prefix="", device="-d nsb"):
    """Run such a pair to its end; each of the client's TAP lines becomes a case."""
    server, running = start_pair(t, client, device)
    result = running.wait()
    t.finish(server)
    t.take_tap(result, prefix)
