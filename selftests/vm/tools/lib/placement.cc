// SPDX-License-Identifier: GPL-2.0
// See placement.h.
#include "placement.h"

#include <string>

#include <unistd.h>

#include "outcome.h"
#include "ring_map.h"
#include "tern-abi.h"

namespace vt {
namespace {

// Templates, so that they are only looked into where the header has the members.
template <class Qp> constexpr bool has_wr_flush()
{
	return requires(Qp * qp)
	{
		qp->wr_flush;
	};
}

template <class Qp> constexpr bool has_wr_atomic_write()
{
	return requires(Qp * qp)
	{
		qp->wr_atomic_write;
	};
}

template <class Qp> void call_atomic_write(Qp *qp, uint32_t rkey, uint64_t va, const void *value)
{
	if constexpr (has_wr_atomic_write<Qp>())
		qp->wr_atomic_write(qp, rkey, va, value);
	else
		fail("this libibverbs has no ibv_wr_atomic_write()");
}

// The rings of tern's provider have a request that is a WRITE of nothing and not yet published.
// Makes a FLUSH of it.
[[maybe_unused]] void rewrite_as_flush(uint64_t wr_id, uint32_t rkey, uint64_t va,
				       const FlushArgs &args)
{
	for (const RingMap &map : ring_maps()) {
		auto *from = static_cast<char *>(map.at) + TERN_RING_HDR_BYTES;
		auto *end = static_cast<char *>(map.at) + map.bytes;
		for (char *at = from; at + sizeof(tern_send_wqe) <= end; at += TERN_WQE_ALIGN) {
			auto *wqe = reinterpret_cast<tern_send_wqe *>(at);
			if (wqe->wr_id != wr_id || wqe->opcode != TERN_WR_RDMA_WRITE ||
			    wqe->rdma.rkey != rkey || wqe->rdma.remote_addr != va)
				continue;
			wqe->opcode = TERN_WR_FLUSH;
			wqe->flush.bytes = static_cast<uint32_t>(args.bytes);
			wqe->flush.placement = args.placement;
			wqe->flush.selectivity = args.selectivity;
			return;
		}
	}
	fail("the request is in no ring");
}

template <class Qp> void call_flush(Qp *qp, uint32_t rkey, uint64_t va, const FlushArgs &args)
{
	if constexpr (has_wr_flush<Qp>()) {
		qp->wr_flush(qp, rkey, va, args.bytes, args.placement, args.selectivity);
	} else {
		ibv_wr_rdma_write(qp, rkey, va);
		rewrite_as_flush(qp->wr_id, rkey, va, args);
	}
}

bool is_tern(const Device &device)
{
	std::string own = std::string(device.context()->device->ibdev_path) + "/peer_timeout";
	return !access(own.c_str(), F_OK);
}

} // namespace

uint64_t placement_ops(const Device &device)
{
	uint64_t ops = 0;
	if (has_wr_atomic_write<ibv_qp_ex>() && has_cap(device, kCapAtomicWrite))
		ops |= kWithAtomicWrite;
	if (has_wr_flush<ibv_qp_ex>() && has_cap(device, kCapFlushGlobal))
		ops |= kWithFlush;
	return ops;
}

bool can_flush(const Device &device, bool client)
{
	bool can_post = has_wr_flush<ibv_qp_ex>() || is_tern(device);
	return has_cap(device, kCapFlushGlobal) && (can_post || !client);
}

void wr_atomic_write(ibv_qp_ex *qp, uint32_t rkey, uint64_t va, const void *value)
{
	call_atomic_write(qp, rkey, va, value);
}

void wr_flush(ibv_qp_ex *qp, uint32_t rkey, uint64_t va, const FlushArgs &args)
{
	call_flush(qp, rkey, va, args);
}

} // namespace vt
