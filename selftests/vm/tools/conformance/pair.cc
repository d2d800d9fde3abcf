// SPDX-License-Identifier: GPL-2.0
// See pair.h.
#include "pair.h"

#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "pattern.h"
#include "xrc.h"

namespace vt {
namespace {

// An address of the netdev, with port 0.
sockaddr_storage own_address(const Bed &bed)
{
	int family = bed.family == 4 ? AF_INET : AF_INET6;
	sockaddr_storage found = {};
	ifaddrs *list = nullptr;

	require(!getifaddrs(&list), "getifaddrs: %m");
	for (ifaddrs *at = list; at && !found.ss_family; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != family ||
		    bed.netdev != at->ifa_name)
			continue;
		size_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
		const auto *six = reinterpret_cast<const sockaddr_in6 *>(at->ifa_addr);
		if (family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
			memcpy(&found, at->ifa_addr, bytes);
	}
	freeifaddrs(list);
	require(found.ss_family, "no IPv%d address on netdev '%s'", bed.family, bed.netdev.c_str());
	return found;
}

LinkOptions far_options(LinkOptions options, ibv_xrcd *xrcd, ibv_srq *srq)
{
	if (options.type == IBV_QPT_XRC_SEND) {
		options.type = IBV_QPT_XRC_RECV;
		options.modern = false;
		options.xrcd = xrcd;
		options.srq = srq;
	}
	return options;
}

Xrcd domain_for(Bed &bed, ibv_qp_type type)
{
	if (type != IBV_QPT_XRC_SEND)
		return nullptr;
	return made(try_open_domain(bed.context, -1, O_CREAT), "ibv_open_xrcd");
}

Srq queue_for(Bed &bed, ibv_xrcd *xrcd, ibv_cq *cq)
{
	return xrcd ? make_xrc_srq(bed.pd.get(), xrcd, cq) : nullptr;
}

} // namespace

Connection::Connection(Bed &bed, Link &near, Link &far)
{
	near.to_init();
	far.to_init();
	if (!bed.device.is_iwarp()) {
		near.to_rtr(far.address());
		far.to_rtr(near.address());
		near.to_rts();
		far.to_rts();
		return;
	}
	CmOffer offer = {.depth = near.options().rd_atomic, .qpn = near.qp()->qp_num};
	sockaddr_storage address = own_address(bed);
	auto *at = reinterpret_cast<sockaddr *>(&address);

	CmId listener = far_cm_.emplace().listen(at, 4);
	// The port's offset is the same for IPv6.
	reinterpret_cast<sockaddr_in *>(at)->sin_port = rdma_get_src_port(listener.get());
	near_id_ = near_cm_.emplace().resolve(at);
	need_ok(CmChannel::ask(near_id_.get(), offer), "rdma_connect");
	far_id_ = std::move(far_cm_->expect(RDMA_CM_EVENT_CONNECT_REQUEST).request);
	offer.qpn = far.qp()->qp_num;
	far_cm_->accept(far_id_.get(), offer);
	near_cm_->expect(RDMA_CM_EVENT_ESTABLISHED);
}

LinkOptions impatient_link(ibv_qp_type type)
{
	LinkOptions options;
	options.type = type;
	options.timeout = 10;
	options.retries = 2;
	options.sges = 2;
	return options;
}

Pair::Pair(Bed &b, LinkOptions options, int far_access, const CqOptions &far_options_of_cq)
	: bed(b), near_cq(b.device, {}), far_cq(b.device, far_options_of_cq),
	  near_mem(b.pd.get(), kBytes), far_mem(b.pd.get(), kBytes, far_access),
	  xrcd(domain_for(b, options.type)), srq(queue_for(b, xrcd.get(), far_cq.get())),
	  near(b.device, b.pd.get(), near_cq.get(), near_cq.get(), options),
	  far(b.device, b.pd.get(), far_cq.get(), far_cq.get(),
	      far_options(options, xrcd.get(), srq.get())),
	  connection(b, near, far)
{
	pattern_fill(near_mem.at(0), kBytes, pattern_key(1, 0, 0));
	pattern_fill(far_mem.at(0), kBytes, pattern_key(2, 0, 0));
}

Work Pair::work(ibv_wr_opcode opcode, uint64_t id) const
{
	bool of_value = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || int{opcode} == kWrAtomicWrite;
	Work w{.opcode = opcode, .id = id, .sges = {near_mem.sge(0, of_value ? 8 : 64)}};
	w.remote_va = far_mem.va(0);
	w.rkey = far_mem.mr()->rkey;
	w.imm = 0x12345678;
	w.srqn = srq ? number_of(srq.get()) : 0;
	return w;
}

void Pair::ends(const Work &w, ibv_wc_status status)
{
	post(near, w);
	near_cq.expect(status, w.id);
}

void Pair::expect_ended()
{
	constexpr uint64_t kLate = 77;

	EXPECT_EQ(near.state(), IBV_QPS_ERR);
	post(near, work(IBV_WR_SEND, kLate));
	near_cq.expect(IBV_WC_WR_FLUSH_ERR, kLate);
}

void Pair::expect_same(uint32_t bytes, uint32_t near_offset, uint32_t far_offset) const
{
	EXPECT_EQ(memcmp(near_mem.at(near_offset), far_mem.at(far_offset), bytes), 0)
		<< bytes << " bytes differ";
}

} // namespace vt
