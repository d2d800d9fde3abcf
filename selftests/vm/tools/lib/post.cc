// SPDX-License-Identifier: GPL-2.0
// See post.h.
#include "post.h"

#include <arpa/inet.h>
#include <bit>
#include <cerrno>
#include <cstring>

namespace vt {
namespace {

void build_classic(const Link &link, const Work &work, ibv_send_wr *wr)
{
	*wr = {};
	wr->wr_id = work.id;
	wr->opcode = work.opcode;
	wr->send_flags = work.flags;
	wr->sg_list = const_cast<ibv_sge *>(work.sges.data());
	wr->num_sge = static_cast<int>(work.sges.size());
	if (work.opcode == IBV_WR_SEND_WITH_INV || work.opcode == IBV_WR_LOCAL_INV)
		wr->invalidate_rkey = work.key;
	else
		wr->imm_data = htonl(work.imm);
	if (link.options().type == IBV_QPT_XRC_SEND)
		wr->qp_type.xrc.remote_srqn = work.srqn;
	if (link.options().type == IBV_QPT_UD) {
		wr->wr.ud = {link.ah(), link.peer().qpn, link.peer().qkey};
	} else if (work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic = {work.remote_va, work.compare_add, work.swap, work.rkey};
	} else if (work.opcode == IBV_WR_BIND_MW) {
		wr->bind_mw = {work.mw, work.new_rkey, work.bind};
	} else {
		wr->wr.rdma = {work.remote_va, work.rkey};
	}
}

void build_modern(const Link &link, const Work &work)
{
	ibv_qp_ex *qp = link.ex();
	qp->wr_id = work.id;
	qp->wr_flags = work.flags & ~unsigned{IBV_SEND_INLINE};
	switch (int{work.opcode}) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, htonl(work.imm));
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qp, work.key);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, work.rkey, work.remote_va);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, work.rkey, work.remote_va, htonl(work.imm));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, work.rkey, work.remote_va);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, work.rkey, work.remote_va, work.compare_add, work.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qp, work.rkey, work.remote_va, work.compare_add);
		break;
	case kWrAtomicWrite:
		wr_atomic_write(qp, work.rkey, work.remote_va,
				std::bit_cast<void *>(work.sges[0].addr));
		return;
	case kWrFlush:
		wr_flush(qp, work.rkey, work.remote_va, work.flush);
		return;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qp, work.key);
		return;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(qp, work.mw, work.new_rkey, &work.bind);
		return;
	default:
		fail("opcode %d is not known to post.cc", work.opcode);
	}
	if (link.options().type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, link.ah(), link.peer().qpn, link.peer().qkey);
	if (link.options().type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(qp, work.srqn);
	if (work.flags & IBV_SEND_INLINE) {
		std::vector<ibv_data_buf> parts;
		parts.reserve(work.sges.size());
		for (const ibv_sge &sge : work.sges)
			parts.push_back({std::bit_cast<void *>(sge.addr), sge.length});
		if (parts.size() == 1)
			ibv_wr_set_inline_data(qp, parts[0].addr, parts[0].length);
		else
			ibv_wr_set_inline_data_list(qp, parts.size(), parts.data());
	} else if (work.sges.size() == 1) {
		ibv_wr_set_sge(qp, work.sges[0].lkey, work.sges[0].addr, work.sges[0].length);
	} else {
		ibv_wr_set_sge_list(qp, work.sges.size(), work.sges.data());
	}
}

} // namespace

int try_post_list(const Link &link, const std::vector<Work> &works)
{
	if (link.options().modern) {
		ibv_wr_start(link.ex());
		for (const Work &work : works)
			build_modern(link, work);
		return ibv_wr_complete(link.ex());
	}
	std::vector<ibv_send_wr> wrs(works.size());
	for (size_t i = 0; i < works.size(); i++) {
		build_classic(link, works[i], &wrs[i]);
		wrs[i].next = i + 1 < works.size() ? &wrs[i + 1] : nullptr;
	}
	ibv_send_wr *bad = nullptr;
	return ibv_post_send(link.qp(), wrs.data(), &bad);
}

int try_post(const Link &link, const Work &work)
{
	if (link.options().modern) {
		ibv_wr_start(link.ex());
		build_modern(link, work);
		return ibv_wr_complete(link.ex());
	}
	ibv_send_wr wr, *bad = nullptr;
	build_classic(link, work, &wr);
	return ibv_post_send(link.qp(), &wr, &bad);
}

void post(const Link &link, const Work &work)
{
	int error = try_post(link, work);
	require(!error, "posting %s: %s", opcode_name(work.opcode), strerror(error));
}

int try_post_recv(const Link &link, uint64_t id, std::vector<ibv_sge> sges)
{
	ibv_recv_wr wr = {id, nullptr, sges.data(), static_cast<int>(sges.size())};
	ibv_recv_wr *bad = nullptr;
	return link.options().srq ? ibv_post_srq_recv(link.options().srq, &wr, &bad) :
				    ibv_post_recv(link.qp(), &wr, &bad);
}

void post_recv(const Link &link, uint64_t id, const std::vector<ibv_sge> &sges)
{
	int error = try_post_recv(link, id, sges);
	require(!error, "posting a receive: %s", strerror(error));
}

int try_post_srq(ibv_srq *srq, uint64_t id, std::vector<ibv_sge> sges)
{
	ibv_recv_wr wr = {id, nullptr, sges.data(), static_cast<int>(sges.size())};
	ibv_recv_wr *bad = nullptr;
	return ibv_post_srq_recv(srq, &wr, &bad);
}

const char *opcode_name(ibv_wr_opcode opcode)
{
	switch (int{opcode}) {
	case kWrAtomicWrite:
		return "atomic_write";
	case kWrFlush:
		return "flush";
	case IBV_WR_SEND:
		return "send";
	case IBV_WR_SEND_WITH_IMM:
		return "send_imm";
	case IBV_WR_SEND_WITH_INV:
		return "send_inv";
	case IBV_WR_RDMA_WRITE:
		return "write";
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "write_imm";
	case IBV_WR_RDMA_READ:
		return "read";
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return "cmp_swap";
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return "fetch_add";
	case IBV_WR_LOCAL_INV:
		return "local_inv";
	case IBV_WR_BIND_MW:
		return "bind_mw";
	default:
		return "?";
	}
}

ibv_wc_opcode completion_of(ibv_wr_opcode opcode)
{
	switch (int{opcode}) {
	case kWrAtomicWrite:
		return kWcAtomicWrite;
	case kWrFlush:
		return kWcFlush;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

} // namespace vt
