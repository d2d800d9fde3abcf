// SPDX-License-Identifier: GPL-2.0
// Duplicates of requests that arrive late, long after the original was executed.
#include <array>
#include <cerrno>
#include <cstring>

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

namespace vt {
namespace {

constexpr uint16_t kPort = 4791;
constexpr uint8_t kReadRequest = 0x0c;
constexpr size_t kEther = 14, kIp4 = 20, kIp6 = 40, kUdp = 8, kBth = 12;

using Frame = std::vector<uint8_t>;

uint32_t big_endian(const uint8_t *p, int bytes)
{
	uint32_t n = 0;
	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

// The offset of a RoCE packet's UDP header; 0: the packet is no RoCE packet.
size_t udp_of(const Frame &f)
{
	if (f.size() < kEther + kIp6 + kUdp + kBth)
		return 0;
	uint32_t type = big_endian(&f[kEther - 2], 2);
	bool ip4 = type == ETH_P_IP && f[kEther + 9] == IPPROTO_UDP;
	bool ip6 = type == ETH_P_IPV6 && f[kEther + 6] == IPPROTO_UDP;
	size_t at = kEther + (ip4 ? kIp4 : kIp6);
	return (ip4 || ip6) && big_endian(&f[at + 2], 2) == kPort ? at : 0;
}

// Captures packets that leave by a netdev, and can send them again.
class Wire {
public:
	explicit Wire(const std::string &netdev)
		: socket_(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)))
	{
		sockaddr_ll here = {};
		here.sll_family = AF_PACKET;
		here.sll_protocol = htons(ETH_P_ALL);
		here.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
		require(socket_ >= 0 &&
				!bind(socket_, reinterpret_cast<sockaddr *>(&here), sizeof(here)),
			"a packet socket on %s: %m", netdev.c_str());
	}
	~Wire() { close(socket_); }
	Wire(const Wire &) = delete;
	Wire &operator=(const Wire &) = delete;

	// The READ request to that QP among the packets captured since.
	Frame read_request(uint32_t qpn) const
	{
		std::array<uint8_t, 65536> bytes;
		ssize_t n;
		while ((n = recv(socket_, bytes.data(), bytes.size(), 0)) >= 0) {
			Frame f(bytes.begin(), bytes.begin() + n);
			size_t udp = udp_of(f);
			if (!udp || f[udp + kUdp] != kReadRequest ||
			    big_endian(&f[udp + kUdp + 5], 3) != qpn)
				continue;
			// The netdev computes the checksum, which the ICRC does not cover.
			f[udp + 6] = f[udp + 7] = 0;
			return f;
		}
		fail("no READ request was seen: %m");
	}

	void send_again(const Frame &f) const
	{
		require(send(socket_, f.data(), f.size(), 0) == static_cast<ssize_t>(f.size()),
			"a frame: %m");
	}

private:
	int socket_;
};

// The server deregisters the memory once the client has the data, as it may.
void read_of_gone_memory(Env &env)
{
	need_tern(env, "copies of packets");
	env.both_need(!env.device.is_iwarp() && !env.netdev.empty(),
		      "a netdev for RoCE packets (not on this machine)");
	ErrorBench b(env);
	Arena gone(b.bench.pd.get(), 4096);
	Remote theirs = env.control.exchange(gone.remote());
	if (!env.client)
		post_recv(b.bench.link, 3, {b.bench.arena.sge(0, 64)});
	env.control.sync();
	if (env.client) {
		Wire wire(env.netdev);
		Work w = b.to_target(IBV_WR_RDMA_READ);
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(b.bench.link, w);
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		Frame copy = wire.read_request(b.bench.link.peer().qpn);
		env.control.sync();
		env.control.sync(); // deregistered
		for (int i = 0; i < 3; i++)
			wire.send_again(copy);
		// They arrive before later packets.
		post(b.bench.link, b.to_target(IBV_WR_SEND, 2));
		b.bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
	} else {
		env.control.sync(); // read
		gone.deregister();
		env.control.sync();
		b.bench.cq.expect(IBV_WC_SUCCESS, 3, env.limit_s);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"late/read-of-gone-memory", read_of_gone_memory});
});

} // namespace
} // namespace vt
