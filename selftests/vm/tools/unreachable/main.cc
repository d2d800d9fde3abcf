// SPDX-License-Identifier: GPL-2.0
// vunreachable: RC and UD QPs with unreachable peers. It connects -m of each to addresses from -a
// on, which must exist so far, creates the file -r, waits until that file is
// removed, and then sends until it is killed.
#include <arpa/inet.h>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <unistd.h>
#include <vector>

#include "link.h"
#include "options.h"
#include "post.h"

namespace {

constexpr uint32_t kBytes = 32768;

vt::QpAddress nobody_at(const vt::Device &device, uint32_t address)
{
	vt::QpAddress a = {};
	uint32_t net = htonl(address);
	a.qpn = 0x77;
	a.mtu = device.port().active_mtu;
	a.qkey = 0x11111111;
	a.gid.raw[10] = a.gid.raw[11] = 0xff;
	memcpy(a.gid.raw + 12, &net, 4);
	return a;
}

struct Sender {
	Sender(const vt::Device &device, ibv_pd *pd, ibv_qp_type type, uint32_t address)
		: cq(device, {}), arena(pd, kBytes)
	{
		vt::LinkOptions options;
		options.type = type;
		work.opcode = type == IBV_QPT_RC ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
		work.sges = {arena.sge(0, type == IBV_QPT_RC ? kBytes : device_mtu(device))};
		link = std::make_unique<vt::Link>(device, pd, cq.get(), cq.get(), options);
		link->to_init();
		link->to_rtr(nobody_at(device, address));
		link->to_rts();
	}
	static uint32_t device_mtu(const vt::Device &device)
	{
		return vt::mtu_bytes(device.port().active_mtu);
	}
	// Fill the send queue. A QP in error sends no more.
	void send()
	{
		ibv_wc wc;
		while (ibv_poll_cq(cq.get(), 1, &wc) > 0)
			posted--;
		while (posted < link->options().send_wr && !vt::try_post(*link, work))
			posted++;
	}
	vt::Cq cq;
	vt::Arena arena;
	vt::Work work;
	std::unique_ptr<vt::Link> link;
	uint32_t posted = 0;
};

} // namespace

int main(int argc, char **argv)
{
	vt::DeviceChoice choice;
	std::string first, file;
	uint32_t many = 1;

	if (!vt::parse_options(
		    argc, argv,
		    {{'d', &choice.device}, {'a', &first}, {'m', &many}, {'r', &file}})) {
		fprintf(stderr, "usage: vunreachable -d DEVICE -a ADDRESS -m MANY -r FILE\n");
		return 2;
	}
	try {
		vt::Device device(choice);
		vt::Pd pd = vt::make_pd(device.context());
		std::vector<std::unique_ptr<Sender>> senders;
		in_addr at = {};
		vt::require(inet_aton(first.c_str(), &at), "no address: %s", first.c_str());
		for (uint32_t i = 0; i < many; i++)
			for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD})
				senders.push_back(std::make_unique<Sender>(device, pd.get(), type,
									   ntohl(at.s_addr) + i));
		std::ofstream(file) << "ready\n";
		while (!access(file.c_str(), F_OK))
			usleep(10000);
		for (;; usleep(1000))
			for (auto &sender : senders)
				sender->send();
	} catch (const std::exception &e) {
		fprintf(stderr, "vunreachable: %s\n", e.what());
		return 1;
	}
}
