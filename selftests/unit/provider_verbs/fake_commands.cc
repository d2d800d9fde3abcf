// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The fake kernel's part for commands that libibverbs once wrote to the file: each has one
// structure.
#include <cerrno>

#include "fake_args.h"

int FakeKernel::invoke(uint32_t command, Args &args)
{
	constexpr uint32_t kEx = IB_USER_VERBS_CMD_FLAG_EXTENDED;
	const size_t core_bytes = args.bytes(UVERBS_ATTR_CORE_IN);

	if (failing(command & ~kEx))
		return fail_errno;

	switch (command) {
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
		/* libibverbs asks like this whether the kernel knows the ioctl. */
		return core_bytes ? bad("query_device") : ENOSPC;
	case kEx | IB_USER_VERBS_EX_CMD_QUERY_DEVICE: {
		ib_uverbs_ex_query_device_resp resp = {};

		resp.base.fw_ver = 0x0001000200030000ull >> 16;
		resp.base.max_qp = 1000;
		resp.base.phys_port_cnt = 1;
		resp.max_dm_size = 1 << 20;
		resp.cq_moderation_caps = {300, 400, 0};
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_device");
	}
	case IB_USER_VERBS_CMD_QUERY_PORT: {
		ib_uverbs_query_port_resp resp = {};

		if (core_bytes != sizeof(ib_uverbs_query_port) ||
		    args.in(UVERBS_ATTR_CORE_IN)[8] != 1)
			return bad("query_port");
		resp.state = 4;
		resp.gid_tbl_len = 32;
		resp.link_layer = 2;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_port");
	}
	case IB_USER_VERBS_CMD_ALLOC_PD:
		return args.put(UVERBS_ATTR_CORE_OUT, add("pd", 0)) ? 0 : bad("alloc_pd");
	case IB_USER_VERBS_CMD_DEALLOC_PD: {
		ib_uverbs_dealloc_pd req;

		return args.core(&req) ? destroy(req.pd_handle, "pd") : bad("dealloc_pd");
	}
	case IB_USER_VERBS_CMD_OPEN_XRCD: {
		ib_uverbs_open_xrcd req;

		if (!args.core(&req))
			return bad("open_xrcd");
		last_xrcd_fd = static_cast<int>(req.fd);
		last_xrcd_oflags = static_cast<int>(req.oflags);
		return args.put(UVERBS_ATTR_CORE_OUT, add("xrcd", 0)) ? 0 : bad("open_xrcd");
	}
	case IB_USER_VERBS_CMD_CLOSE_XRCD: {
		ib_uverbs_close_xrcd req;

		return args.core(&req) ? destroy(req.xrcd_handle, "xrcd") : bad("close_xrcd");
	}
	case IB_USER_VERBS_CMD_OPEN_QP: {
		ib_uverbs_open_qp req;
		ib_uverbs_create_qp_resp resp = {};

		if (!args.core(&req) || req.qp_type != IB_UVERBS_QPT_XRC_TGT)
			return bad("open_qp");
		if (!is_a("xrcd", req.pd_handle))
			return ENOENT;
		resp.qp_handle = add("qp", req.user_handle);
		resp.qpn = req.qpn;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("open_qp");
	}
	case IB_USER_VERBS_CMD_REG_MR: {
		struct {
			uint32_t handle, lkey, rkey;
		} resp = {add("mr", 0), 0x100, 0x101};

		if (core_bytes != sizeof(ib_uverbs_reg_mr))
			return bad("reg_mr");
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("reg_mr");
	}
	case IB_USER_VERBS_CMD_REREG_MR: {
		struct {
			uint32_t lkey, rkey;
		} resp = {0x200, 0x201};

		if (core_bytes != sizeof(ib_uverbs_rereg_mr))
			return bad("rereg_mr");
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("rereg_mr");
	}
	case IB_USER_VERBS_CMD_DEREG_MR: {
		ib_uverbs_dereg_mr req;

		return args.core(&req) ? destroy(req.mr_handle, "mr") : bad("dereg_mr");
	}
	case IB_USER_VERBS_CMD_ALLOC_MW: {
		struct {
			uint32_t handle, rkey;
		} resp = {add("mw", 0), 0xabcdfe};

		if (core_bytes != sizeof(ib_uverbs_alloc_mw))
			return bad("alloc_mw");
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("alloc_mw");
	}
	case IB_USER_VERBS_CMD_DEALLOC_MW: {
		ib_uverbs_dealloc_mw req;

		return args.core(&req) ? destroy(req.mw_handle, "mw") : bad("dealloc_mw");
	}
	case IB_USER_VERBS_CMD_CREATE_AH: {
		uint32_t handle = add("ah", 0);
		tern_create_ah_resp driver = {handle + 1000, 0};

		if (core_bytes != sizeof(ib_uverbs_create_ah))
			return bad("create_ah");
		objects[handle].request.assign(args.in(UVERBS_ATTR_CORE_IN),
					       args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		return args.put(UVERBS_ATTR_CORE_OUT, handle) &&
				       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
			       0 :
			       bad("create_ah");
	}
	case IB_USER_VERBS_CMD_DESTROY_AH: {
		ib_uverbs_destroy_ah req;

		return args.core(&req) ? destroy(req.ah_handle, "ah") : bad("destroy_ah");
	}
	case IB_USER_VERBS_CMD_RESIZE_CQ: {
		struct {
			uint64_t response;
			uint32_t cq_handle, cqe;
		} req;
		struct {
			uint32_t cqe, reserved;
		} resp = {};
		tern_resize_cq_resp driver = {};

		if (!args.core(&req))
			return bad("resize_cq");
		auto old = object(req.cq_handle).ring;
		auto ring = std::make_shared<FakeRing>(req.cqe, TERN_CQE_BYTES);
		if (old->prod() - old->cons() > ring->slots)
			return EINVAL;
		for (uint32_t i = old->cons(); i != old->prod(); i++)
			*ring->slot<tern_cqe>(i) = *old->slot<tern_cqe>(i);
		ring->set_prod(old->prod());
		ring->set_cons(old->cons());
		ring->hdr->arm = old->hdr->arm;
		object(req.cq_handle).ring = ring;
		driver.ring = describe(ring);
		resp.cqe = ring->slots;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) &&
				       args.put(UVERBS_ATTR_UHW_OUT, driver) ?
			       0 :
			       bad("resize_cq");
	}
	case kEx | IB_USER_VERBS_EX_CMD_MODIFY_CQ: {
		ib_uverbs_ex_modify_cq req;

		if (!args.core(&req) || req.reserved)
			return bad("modify_cq");
		object(req.cq_handle)
			.request.assign(args.in(UVERBS_ATTR_CORE_IN),
					args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		return 0;
	}
	case IB_USER_VERBS_CMD_DESTROY_CQ: {
		ib_uverbs_destroy_cq req;
		ib_uverbs_destroy_cq_resp resp = {events_reported, 0};

		if (!args.core(&req) || !args.put(UVERBS_ATTR_CORE_OUT, resp))
			return bad("destroy_cq");
		return destroy(req.cq_handle, "cq");
	}
	case IB_USER_VERBS_CMD_MODIFY_SRQ: {
		struct {
			uint32_t handle, mask, max_wr, limit;
		} req;
		tern_modify_srq_resp driver = {};

		if (!args.core(&req))
			return bad("modify_srq");
		if (req.mask & 1) {
			auto old = object(req.handle).ring;
			auto ring = std::make_shared<FakeRing>(req.max_wr, old->stride);

			for (uint32_t i = old->cons(); i != old->prod(); i++)
				memcpy(ring->slot<char>(i), old->slot<char>(i), old->stride);
			ring->set_prod(old->prod());
			ring->set_cons(old->cons());
			object(req.handle).ring = ring;
			driver.ring = describe(ring);
		}
		return args.put(UVERBS_ATTR_UHW_OUT, driver) ? 0 : bad("modify_srq UHW");
	}
	case IB_USER_VERBS_CMD_QUERY_SRQ: {
		ib_uverbs_query_srq_resp resp = {8, 2, 1, 0};

		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_srq");
	}
	case IB_USER_VERBS_CMD_DESTROY_SRQ: {
		ib_uverbs_destroy_srq req;
		ib_uverbs_destroy_srq_resp resp = {events_reported};

		if (!args.core(&req) || !args.put(UVERBS_ATTR_CORE_OUT, resp))
			return bad("destroy_srq");
		return destroy(req.srq_handle, "srq");
	}
	case IB_USER_VERBS_CMD_MODIFY_QP: {
		ib_uverbs_modify_qp req;

		if (!args.core(&req))
			return bad("modify_qp");
		if (req.attr_mask & 1)
			object(req.qp_handle).state = req.qp_state;
		object(req.qp_handle)
			.request.assign(args.in(UVERBS_ATTR_CORE_IN),
					args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		return 0;
	}
	case IB_USER_VERBS_EX_CMD_MODIFY_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED: {
		ib_uverbs_ex_modify_qp req;
		ib_uverbs_ex_modify_qp_resp resp = {};
		tern_modify_qp_req driver;

		if (!args.core(&req) || !args.get(UVERBS_ATTR_UHW_IN, &driver) || driver.reserved)
			return bad("ex_modify_qp");
		FakeObject &qp = object(req.base.qp_handle);
		qp.request.assign(args.in(UVERBS_ATTR_CORE_IN),
				  args.in(UVERBS_ATTR_CORE_IN) + core_bytes);
		qp.max_burst_bytes = driver.max_burst_bytes;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("ex_modify_qp");
	}
	case IB_USER_VERBS_CMD_QUERY_QP: {
		struct {
			uint64_t response;
			uint32_t handle, mask;
		} req;
		ib_uverbs_query_qp_resp resp = {};

		if (!args.core(&req))
			return bad("query_qp");
		resp.qp_state = static_cast<uint8_t>(object(req.handle).state);
		resp.dest_qp_num = 0x4242;
		return args.put(UVERBS_ATTR_CORE_OUT, resp) ? 0 : bad("query_qp");
	}
	case IB_USER_VERBS_CMD_DESTROY_QP: {
		ib_uverbs_destroy_qp req;
		ib_uverbs_destroy_qp_resp resp = {events_reported};

		if (!args.core(&req) || !args.put(UVERBS_ATTR_CORE_OUT, resp))
			return bad("destroy_qp");
		return destroy(req.qp_handle, "qp");
	}
	case IB_USER_VERBS_CMD_ATTACH_MCAST:
	case IB_USER_VERBS_CMD_DETACH_MCAST:
		return core_bytes == sizeof(ib_uverbs_attach_mcast) ? 0 : bad("mcast");
	case IB_USER_VERBS_CMD_POST_SEND: {
		struct {
			uint64_t response;
			uint32_t qp_handle, wr_count, sge_count, wqe_size;
		} req;

		if (!args.core(&req) || req.wr_count || req.sge_count ||
		    req.wqe_size != sizeof(ib_uverbs_send_wr) ||
		    args.bytes(UVERBS_ATTR_CORE_OUT) != sizeof(ib_uverbs_post_send_resp))
			return bad("post_send");
		if (!objects.count(req.qp_handle) || object(req.qp_handle).kind != "qp")
			return EINVAL;
		doorbell_commands++;
		return 0;
	}
	default:
		return bad("command " + std::to_string(command));
	}
}
