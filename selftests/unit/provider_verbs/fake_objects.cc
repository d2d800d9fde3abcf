// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The fake kernel's part for objects that are created by attributes: CQs, SRQs, QPs, device memory,
// regions of dma-bufs.
#include <algorithm>
#include <cerrno>

#include "fake_args.h"

/* Events go where the context that made it looks. */
bool FakeKernel::is_ours(const Args &args, uint16_t event_fd)
{
	return async_fd < 0 ? !args.has(event_fd) :
			      static_cast<int>(args.handle(event_fd)) == async_fd;
}

int FakeKernel::create_cq(Args &args)
{
	tern_create_cq_resp driver = {};
	tern_create_cq_req req;
	uint64_t user_handle;
	uint32_t cqe, vector, flags;

	if (!args.get(UVERBS_ATTR_CREATE_CQ_CQE, &cqe) ||
	    !args.get(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user_handle) ||
	    !args.get(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector) ||
	    !args.get(UVERBS_ATTR_CREATE_CQ_FLAGS, &flags) || !args.get(UVERBS_ATTR_UHW_IN, &req) ||
	    !is_ours(args, UVERBS_ATTR_CREATE_CQ_EVENT_FD))
		return bad("create_cq");
	/* As an older module, which knows neither. */
	if (!(features & TERN_FEATURE_CQ_OPTIONS) && (flags || req.flags || req.reserved))
		return EINVAL;
	const uint32_t handle = add("cq", user_handle);

	objects[handle].flags = flags;
	objects[handle].request.assign(args.in(UVERBS_ATTR_UHW_IN),
				       args.in(UVERBS_ATTR_UHW_IN) + sizeof(req));
	objects[handle].ring = std::make_shared<FakeRing>(cqe, TERN_CQE_BYTES);
	driver.ring = describe(objects[handle].ring);
	args.attrs.at(UVERBS_ATTR_CREATE_CQ_HANDLE)->data = handle;
	return args.put(UVERBS_ATTR_CREATE_CQ_RESP_CQE, objects[handle].ring->slots) &&
			       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
		       0 :
		       bad("create_cq");
}

int FakeKernel::create_srq(Args &args)
{
	tern_create_srq_resp driver = {};
	uint64_t user_handle, type;
	uint32_t max_wr, max_sge, limit;

	if (!args.get(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &user_handle) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_MAX_WR, &max_wr) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &max_sge) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_LIMIT, &limit) ||
	    !args.get(UVERBS_ATTR_CREATE_SRQ_TYPE, &type) ||
	    (type != IB_UVERBS_SRQT_BASIC && type != IB_UVERBS_SRQT_XRC) ||
	    !is_ours(args, UVERBS_ATTR_CREATE_SRQ_EVENT_FD))
		return bad("create_srq");
	/* The kernel wants the last of them, too. */
	for (auto id : {UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE,
			UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM})
		if (args.has(id) != (type == IB_UVERBS_SRQT_XRC))
			return bad("create_srq for XRC");
	if (type == IB_UVERBS_SRQT_XRC &&
	    (!is_a("xrcd", args.handle(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE)) ||
	     !is_a("cq", args.handle(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE)) ||
	     !args.put(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, uint32_t{99})))
		return ENOENT;
	const uint32_t handle = add("srq", user_handle);

	objects[handle].ring =
		std::make_shared<FakeRing>(max_wr, TERN_RECV_WQE_BYTES + 16 * max_sge);
	driver.ring = describe(objects[handle].ring);
	driver.srq_num = 99;
	args.attrs.at(UVERBS_ATTR_CREATE_SRQ_HANDLE)->data = handle;
	return args.put(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, objects[handle].ring->slots) &&
			       args.put(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, max_sge) &&
			       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
		       0 :
		       bad("create_srq");
}

int FakeKernel::create_qp(Args &args)
{
	const uint32_t pd = args.handle(UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	ib_uverbs_qp_cap cap;
	tern_create_qp_resp driver = {};
	uint64_t user_handle, type;
	uint32_t flags;

	if (!args.get(UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user_handle) ||
	    !args.get(UVERBS_ATTR_CREATE_QP_CAP, &cap) ||
	    !args.get(UVERBS_ATTR_CREATE_QP_TYPE, &type) ||
	    !args.get(UVERBS_ATTR_CREATE_QP_FLAGS, &flags) ||
	    flags & ~uint32_t{IB_UVERBS_QP_CREATE_SQ_SIG_ALL |
			      IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK} ||
	    !is_ours(args, UVERBS_ATTR_CREATE_QP_EVENT_FD))
		return bad("create_qp");
	if (type == IB_UVERBS_QPT_XRC_TGT)
		return create_target(args, user_handle);
	if (!is_a("pd", pd) || !is_a("cq", args.handle(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE)))
		return ENOENT;
	if (type == IB_UVERBS_QPT_XRC_INI) {
		if (args.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) ||
		    args.has(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE))
			return bad("create_qp of an XRC initiator");
	} else if (!is_a("cq", args.handle(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE))) {
		return ENOENT;
	}
	const uint32_t handle = add("qp", user_handle);
	FakeObject &qp = objects[handle];
	const uint32_t tail = std::max(cap.max_send_sge * 16, cap.max_inline_data);

	qp.ring =
		std::make_shared<FakeRing>(std::max(cap.max_send_wr, 1u), (64 + tail + 63) & ~63u);
	driver.sq = describe(qp.ring);
	if (!args.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) && type != IB_UVERBS_QPT_XRC_INI) {
		qp.rq = std::make_shared<FakeRing>(std::max(cap.max_recv_wr, 1u),
						   16 + 16 * cap.max_recv_sge);
		driver.rq = describe(qp.rq);
	}
	driver.max_inline = qp.ring->stride - 64;
	qp.flags = flags;
	cap.max_send_wr = qp.ring->slots;
	cap.max_recv_wr = qp.rq ? qp.rq->slots : 0;
	args.attrs.at(UVERBS_ATTR_CREATE_QP_HANDLE)->data = handle;
	return args.put(UVERBS_ATTR_CREATE_QP_RESP_CAP, cap) &&
			       args.put(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, next_qpn++) &&
			       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
		       0 :
		       bad("create_qp");
}

/* The driver is not told of the program: it answers nothing. */
int FakeKernel::create_target(Args &args, uint64_t user_handle)
{
	if (args.has(UVERBS_ATTR_CREATE_QP_PD_HANDLE) ||
	    args.has(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) ||
	    args.has(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) ||
	    args.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		return bad("create_qp of an XRC target");
	if (!is_a("xrcd", args.handle(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE)))
		return ENOENT;
	args.attrs.at(UVERBS_ATTR_CREATE_QP_HANDLE)->data = add("qp", user_handle);
	return args.put(UVERBS_ATTR_CREATE_QP_RESP_CAP, ib_uverbs_qp_cap{}) &&
			       args.put(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, next_qpn++) ?
		       0 :
		       bad("create_qp of an XRC target");
}

int FakeKernel::reg_dmabuf_mr(Args &args)
{
	if (!args.get(UVERBS_ATTR_REG_DMABUF_MR_FD, &dmabuf.fd) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &dmabuf.offset) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &dmabuf.length) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_IOVA, &dmabuf.iova) ||
	    !args.get(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &dmabuf.access))
		return bad("reg_dmabuf_mr");
	dmabuf.pd = args.handle(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE);
	args.attrs.at(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)->data = add("mr", 0);
	return args.put(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, uint32_t{0x300}) &&
			       args.put(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, uint32_t{0x301}) ?
		       0 :
		       bad("reg_dmabuf_mr");
}

int FakeKernel::device_memory(uint16_t method, Args &args)
{
	switch (method) {
	case UVERBS_METHOD_DM_ALLOC:
		return alloc_dm(args);
	case UVERBS_METHOD_DM_FREE:
		return destroy(args.handle(UVERBS_ATTR_FREE_DM_HANDLE), "dm");
	case TERN_METHOD_QUERY_DM:
		return query_dm(args);
	default:
		return bad("dm method");
	}
}

int FakeKernel::alloc_dm(Args &args)
{
	tern_dm_resp resp = {};
	uint32_t align;

	if (!args.get(UVERBS_ATTR_ALLOC_DM_LENGTH, &resp.length) ||
	    !args.get(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &align))
		return bad("alloc_dm");
	const uint32_t handle = add("dm", 0);

	objects[handle].ring =
		std::make_shared<FakeRing>(static_cast<uint32_t>(resp.length / 64 + 1), 64);
	resp.offset = describe(objects[handle].ring).offset;
	resp.bytes = objects[handle].ring->bytes;
	args.attrs.at(UVERBS_ATTR_ALLOC_DM_HANDLE)->data = handle;
	return args.put(TERN_ATTR_ALLOC_DM_RESP, resp) ? 0 : bad("alloc_dm");
}

/* It is as long as its mapping. */
int FakeKernel::query_dm(Args &args)
{
	const uint32_t handle = args.handle(TERN_ATTR_QUERY_DM_HANDLE);
	tern_dm_resp resp = {};

	if (!objects.count(handle) || object(handle).kind != "dm")
		return ENOENT;
	resp.offset = describe(object(handle).ring).offset;
	resp.bytes = resp.length = object(handle).ring->bytes;
	return args.put(TERN_ATTR_QUERY_DM_RESP, resp) ? 0 : bad("query_dm");
}

int FakeKernel::reg_dm_mr(Args &args)
{
	if (!args.get(UVERBS_ATTR_REG_DM_MR_OFFSET, &dm.offset) ||
	    !args.get(UVERBS_ATTR_REG_DM_MR_LENGTH, &dm.length) ||
	    !args.get(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, &dm.access))
		return bad("reg_dm_mr");
	dm.pd = args.handle(UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
	dm.dm = args.handle(UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
	args.attrs.at(UVERBS_ATTR_REG_DM_MR_HANDLE)->data = add("mr", 0);
	return args.put(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, uint32_t{0x400}) &&
			       args.put(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, uint32_t{0x401}) ?
		       0 :
		       bad("reg_dm_mr");
}
