// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Attributes of the device and its ports, and its clock. */
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {
namespace {

/* CQEs carry nanoseconds of CLOCK_MONOTONIC_RAW: a clock of 10^6 kHz, 64 bits wide. */
constexpr uint64_t kClockKhz = 1000000;

/* What no tern device has (EE contexts, raw QPs, FMRs) stays zero. */
void fill_base(const ib_uverbs_query_device_resp &in, ibv_device_attr *out)
{
	(void)snprintf(out->fw_ver, sizeof(out->fw_ver), "%u.%u.%u",
		       static_cast<unsigned int>(in.fw_ver >> 32 & 0xffff),
		       static_cast<unsigned int>(in.fw_ver >> 16 & 0xffff),
		       static_cast<unsigned int>(in.fw_ver & 0xffff));
	out->node_guid = in.node_guid;
	out->sys_image_guid = in.sys_image_guid;
	out->max_mr_size = in.max_mr_size;
	out->page_size_cap = in.page_size_cap;
	out->vendor_id = in.vendor_id;
	out->vendor_part_id = in.vendor_part_id;
	out->hw_ver = in.hw_ver;
	out->device_cap_flags = in.device_cap_flags;
	out->max_qp = static_cast<int>(in.max_qp);
	out->max_qp_wr = static_cast<int>(in.max_qp_wr);
	out->max_sge = static_cast<int>(in.max_sge);
	out->max_sge_rd = static_cast<int>(in.max_sge_rd);
	out->max_cq = static_cast<int>(in.max_cq);
	out->max_cqe = static_cast<int>(in.max_cqe);
	out->max_mr = static_cast<int>(in.max_mr);
	out->max_pd = static_cast<int>(in.max_pd);
	out->max_mw = static_cast<int>(in.max_mw);
	out->max_ah = static_cast<int>(in.max_ah);
	out->max_srq = static_cast<int>(in.max_srq);
	out->max_srq_wr = static_cast<int>(in.max_srq_wr);
	out->max_srq_sge = static_cast<int>(in.max_srq_sge);
	out->max_qp_rd_atom = static_cast<int>(in.max_qp_rd_atom);
	out->max_res_rd_atom = static_cast<int>(in.max_res_rd_atom);
	out->max_qp_init_rd_atom = static_cast<int>(in.max_qp_init_rd_atom);
	out->atomic_cap = static_cast<ibv_atomic_cap>(in.atomic_cap);
	out->max_mcast_grp = static_cast<int>(in.max_mcast_grp);
	out->max_mcast_qp_attach = static_cast<int>(in.max_mcast_qp_attach);
	out->max_total_mcast_qp_attach = static_cast<int>(in.max_total_mcast_qp_attach);
	out->max_pkeys = in.max_pkeys;
	out->local_ca_ack_delay = in.local_ca_ack_delay;
	out->phys_port_cnt = in.phys_port_cnt;
}

/* What tern does not have (RSS, tag matching, ...) stays zero. */
void fill_ex(const ib_uverbs_ex_query_device_resp &in, ibv_device_attr_ex *out)
{
	fill_base(in.base, &out->orig_attr);
	out->odp_caps.general_caps = in.odp_caps.general_caps;
	out->odp_caps.per_transport_caps.rc_odp_caps = in.odp_caps.per_transport_caps.rc_odp_caps;
	out->odp_caps.per_transport_caps.uc_odp_caps = in.odp_caps.per_transport_caps.uc_odp_caps;
	out->odp_caps.per_transport_caps.ud_odp_caps = in.odp_caps.per_transport_caps.ud_odp_caps;
	out->xrc_odp_caps = in.xrc_odp_caps;
	out->completion_timestamp_mask = UINT64_MAX;
	out->hca_core_clock = kClockKhz;
	out->device_cap_flags_ex =
		in.device_cap_flags_ex ? in.device_cap_flags_ex : in.base.device_cap_flags;
	out->max_dm_size = in.max_dm_size;
	out->phys_port_cnt_ex = in.base.phys_port_cnt;
	out->cq_mod_caps.max_cq_count = in.cq_moderation_caps.max_cq_moderation_count;
	out->cq_mod_caps.max_cq_period = in.cq_moderation_caps.max_cq_moderation_period;
}

ibv_packet_pacing_caps pacing_caps(const Context *ctx)
{
	constexpr uint32_t kTypes =
		1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD | 1u << IBV_QPT_XRC_SEND;

	if (!ctx->rate_limits)
		return {};
	return {TERN_MIN_RATE_KBPS, TERN_MAX_RATE_KBPS, kTypes};
}

} // namespace

/* attr_size may be that of the plain ibv_device_attr, or that of a newer header. */
int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input,
		    ibv_device_attr_ex *attr, size_t attr_size)
{
	const ib_uverbs_ex_query_device req{};
	ib_uverbs_ex_query_device_resp resp{};
	ibv_device_attr_ex full{};
	int err;

	if ((input && input->comp_mask) || attr_size < sizeof(attr->orig_attr))
		return EINVAL;

	err = WriteCommand(extended(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), req)
		      .resp(&resp)
		      .run(context->cmd_fd);
	if (err)
		return err;
	fill_ex(resp, &full);
	full.packet_pacing_caps = pacing_caps(to_context(context));
	memset(static_cast<void *>(attr), 0, attr_size);
	memcpy(static_cast<void *>(attr), &full, std::min(attr_size, sizeof(full)));
	return 0;
}

int query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr)
{
	const ib_uverbs_query_port req = {.response = 0, .port_num = port, .reserved = {}};
	ib_uverbs_query_port_resp resp{};
	int err;

	err = WriteCommand(IB_USER_VERBS_CMD_QUERY_PORT, req).resp(&resp).run(context->cmd_fd);
	if (err)
		return err;
	attr->state = static_cast<ibv_port_state>(resp.state);
	attr->max_mtu = static_cast<ibv_mtu>(resp.max_mtu);
	attr->active_mtu = static_cast<ibv_mtu>(resp.active_mtu);
	attr->gid_tbl_len = static_cast<int>(resp.gid_tbl_len);
	attr->port_cap_flags = resp.port_cap_flags;
	attr->max_msg_sz = resp.max_msg_sz;
	attr->bad_pkey_cntr = resp.bad_pkey_cntr;
	attr->qkey_viol_cntr = resp.qkey_viol_cntr;
	attr->pkey_tbl_len = resp.pkey_tbl_len;
	attr->lid = resp.lid;
	attr->sm_lid = resp.sm_lid;
	attr->lmc = resp.lmc;
	attr->max_vl_num = resp.max_vl_num;
	attr->sm_sl = resp.sm_sl;
	attr->subnet_timeout = resp.subnet_timeout;
	attr->init_type_reply = resp.init_type_reply;
	attr->active_width = resp.active_width;
	attr->active_speed = resp.active_speed;
	attr->phys_state = resp.phys_state;
	attr->link_layer = resp.link_layer;
	attr->flags = resp.flags;
	attr->port_cap_flags2 = 0;
	return 0;
}

/* The raw clock as hardware providers report it: one count, all in tv_nsec. */
int query_rt_values(ibv_context * /*context*/, ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;
	timespec now;

	values->comp_mask = 0;
	if (asked & ~static_cast<uint32_t>(IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (asked & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
			return errno;
		if constexpr (sizeof(now.tv_nsec) == sizeof(int64_t)) {
			now.tv_nsec += now.tv_sec * 1000000000;
			now.tv_sec = 0;
		}
		values->raw_clock = now;
		values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}

} // namespace tern
