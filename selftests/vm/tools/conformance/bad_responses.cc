// SPDX-License-Identifier: GPL-2.0
// IBV_WC_BAD_RESP_ERR: a response that contradicts the oldest request. No responder sends one, so
// that it is forged: a RoCEv2 packet over IPv4 from this host to itself, by a raw socket.
#include <cstring>
#include <fstream>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

using Bytes = std::vector<uint8_t>;

// IBTA 9.2.1: transport RC, with an AETH
enum : uint8_t { kReadResponseOnly = 0x10, kAtomicAcknowledge = 0x12 };
constexpr uint16_t kRocePort = 4791;
constexpr size_t kIpBytes = sizeof(iphdr), kUdpBytes = sizeof(udphdr), kBthBytes = 12;

// Ethernet's CRC (IEEE 802.3).
uint32_t crc32(const Bytes &bytes)
{
	uint32_t crc = ~0u;
	for (uint8_t byte : bytes) {
		crc ^= byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

// Annex A17.3.3: what routers change counts as ones.
uint32_t icrc(Bytes packet)
{
	for (size_t at : {offsetof(iphdr, tos), offsetof(iphdr, ttl), offsetof(iphdr, check),
			  offsetof(iphdr, check) + 1, kIpBytes + offsetof(udphdr, check),
			  kIpBytes + offsetof(udphdr, check) + 1, kIpBytes + kUdpBytes + 4})
		packet[at] = 0xff;
	packet.insert(packet.begin(), 8, 0xff);
	return crc32(packet);
}

void put24(Bytes &packet, uint32_t value)
{
	for (int shift : {16, 8, 0})
		packet.push_back(static_cast<uint8_t>(value >> shift));
}

template <class T> void put(Bytes &packet, const T &header)
{
	const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
	packet.insert(packet.end(), bytes, bytes + sizeof(header));
}

// The payload is a multiple of 4 bytes.
Bytes response(const Pair &pair, in_addr host, uint8_t opcode, size_t payload_bytes)
{
	size_t roce_bytes = kBthBytes + 4 + payload_bytes + 4;
	iphdr ip = {};
	ip.version = 4;
	ip.ihl = 5;
	ip.tot_len = htons(static_cast<uint16_t>(kIpBytes + kUdpBytes + roce_bytes));
	ip.id = htons(1);
	ip.frag_off = htons(IP_DF);
	ip.ttl = 64;
	ip.protocol = IPPROTO_UDP;
	ip.saddr = ip.daddr = host.s_addr;
	udphdr udp = {};
	udp.source = htons(49152);
	udp.dest = htons(kRocePort);
	udp.len = htons(static_cast<uint16_t>(kUdpBytes + roce_bytes));
	Bytes packet;
	put(packet, ip);
	put(packet, udp);
	for (uint8_t byte : {opcode, uint8_t{0x40}, uint8_t{0xff}, uint8_t{0xff}, uint8_t{0}})
		packet.push_back(byte);
	put24(packet, pair.near.qp()->qp_num);
	packet.push_back(0);
	put24(packet, pair.near.address().psn);
	packet.push_back(0x1f); // AETH: an ACK without credits
	put24(packet, 1);
	packet.insert(packet.end(), payload_bytes, 0x5a);
	put(packet, htole32(icrc(packet)));
	return packet;
}

void send_raw(const Bytes &packet, in_addr host)
{
	int raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	require(raw >= 0, "a raw socket: %m");
	sockaddr_in to = {};
	to.sin_family = AF_INET;
	to.sin_addr = host;
	ssize_t sent = sendto(raw, packet.data(), packet.size(), 0,
			      reinterpret_cast<sockaddr *>(&to), sizeof(to));
	close(raw);
	require(sent == static_cast<ssize_t>(packet.size()), "a raw packet: %m");
}

// Does the device hand messages within the host over without packets? It takes none from there
// then.
bool goes_without_packets(const Bed &bed)
{
	std::ifstream file(std::string("/sys/class/infiniband/") + bed.device.name() + "/local");
	return file.get() == 'Y';
}

struct Forgery {
	const char *name;
	ibv_wr_opcode opcode; // of the request
	uint8_t response;
	size_t payload_bytes;
};

constexpr Forgery kForgeries[] = {
	{"read_response_that_is_too_short", IBV_WR_RDMA_READ, kReadResponseOnly, 32},
	{"read_response_that_is_too_long", IBV_WR_RDMA_READ, kReadResponseOnly, 68},
	{"read_response_to_a_write", IBV_WR_RDMA_WRITE, kReadResponseOnly, 64},
	{"read_response_to_an_atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, kReadResponseOnly, 8},
	{"atomic_response_to_a_read", IBV_WR_RDMA_READ, kAtomicAcknowledge, 8},
	{"atomic_response_to_a_write", IBV_WR_RDMA_WRITE, kAtomicAcknowledge, 8},
};

void forge(Bed &bed, const Forgery &forgery)
{
	bed.need_roce("a wrong response ends the stream");
	if (bed.family != 4 || bed.device.is_roce_v1())
		skip("only forged for RoCEv2 over IPv4");
	if (goes_without_packets(bed))
		skip("only forged where packets go");
	in_addr host;
	memcpy(&host, bed.device.gid().raw + 12, sizeof(host));
	LinkOptions options = impatient_link();
	options.timeout = 19;
	Pair pair(bed, options);
	pair.far.move_to(IBV_QPS_ERR); // does not answer
	post(pair.near, pair.work(forgery.opcode));
	send_raw(response(pair, host, forgery.response, forgery.payload_bytes), host);
	pair.near_cq.expect(IBV_WC_BAD_RESP_ERR, 1);
	pair.expect_ended();
}

const Added forgeries([] {
	for (const Forgery &forgery : kForgeries)
		add_case("BAD_RESP_ERR", std::string("RC_") + forgery.name,
			 [&forgery](Bed &bed) { forge(bed, forgery); });
});

} // namespace
} // namespace vt
