// SPDX-License-Identifier: GPL-2.0
/*
 * The device as ib_core sees it: the table of verbs, and the verbs of the
 * device itself. Its life is in core/device.c.
 */
#include <linux/mm.h>
#include <linux/module.h>

#include "core/qp.h"
#include "core/srq.h"
#include "core/transport.h"
#include "mem/window.h"
#include "proto/rc_resp.h"
#include "queue/cq_kernel.h"
#include "verbs/ah.h"
#include "verbs/cq.h"
#include "verbs/device.h"
#include "verbs/dm.h"
#include "verbs/mcast.h"
#include "verbs/mmap.h"
#include "verbs/mr.h"
#include "verbs/mw.h"
#include "verbs/pd.h"
#include "verbs/pma.h"
#include "verbs/port.h"
#include "verbs/post.h"
#include "verbs/qp.h"
#include "verbs/qp_modify.h"
#include "verbs/res.h"
#include "verbs/srq.h"
#include "verbs/stats.h"
#include "verbs/ucontext.h"
#include "verbs/xrcd.h"

/*
 * An adapter has its maker's OUI here. This one is locally administered (the 02 bit), so it belongs
 * to no maker.
 */
#define TERN_VENDOR_ID		0x027472
/* CQEs have timestamps in nanoseconds. */
#define TERN_CLOCK_KHZ		1000000
/* 4.096 us * 2^13: RC_RESP_RECV_WAIT_NS plus the time a host may take to acknowledge. */
#define TERN_CA_ACK_DELAY	13
static_assert((4096ull << TERN_CA_ACK_DELAY) > RC_RESP_RECV_WAIT_NS);

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibdev);
	const struct tern_limits *lim = dev->transport->limits;

	/* NULL: ib_core itself asks */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	*attr = (struct ib_device_attr){
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = U64_MAX,
		.page_size_cap = (u32)PAGE_MASK,
		.vendor_id = TERN_VENDOR_ID,
		.vendor_part_id = dev->transport->part_id,
		.hw_ver = TERN_HW_VER,
		.max_qp = lim->max_qp,
		.max_qp_wr = lim->max_qp_wr,
		.device_cap_flags = lim->device_cap_flags,
		.kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_SG_GAPS_REG |
				    (lim->odp_rc ? IBK_ON_DEMAND_PAGING : 0) |
				    (lim->max_mcast_grp ? IBK_BLOCK_MULTICAST_LOOPBACK : 0),
		.max_send_sge = TERN_MAX_SGE,
		.max_recv_sge = TERN_MAX_SGE,
		.max_sge_rd = TERN_MAX_SGE,
		.max_cq = lim->max_cq,
		.max_cqe = lim->max_cqe,
		.max_mr = lim->max_mr,
		.max_pd = lim->max_pd,
		.max_qp_rd_atom = lim->max_rd_atomic,
		.max_res_rd_atom = min_t(u64, (u64)lim->max_qp * lim->max_rd_atomic, INT_MAX),
		.max_qp_init_rd_atom = lim->max_rd_atomic,
		.atomic_cap = IB_ATOMIC_GLOB,
		.max_mw = lim->max_mw,
		.max_mcast_grp = lim->max_mcast_grp,
		.max_mcast_qp_attach = lim->max_mcast_qp_attach,
		.max_total_mcast_qp_attach =
			min_t(u64, (u64)lim->max_mcast_grp * lim->max_mcast_qp_attach, INT_MAX),
		.max_ah = lim->max_ah,
		.max_srq = lim->max_srq,
		.max_srq_wr = lim->max_srq_wr,
		.max_srq_sge = TERN_MAX_SGE,
		.max_fast_reg_page_list_len = TERN_MAX_FAST_REG_PAGES,
		.max_pkeys = lim->pkey_tbl_len,
		.local_ca_ack_delay = TERN_CA_ACK_DELAY,
		.odp_caps = {
			.general_caps = lim->odp_rc ? IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT : 0,
			.per_transport_caps = {
				.rc_odp_caps = lim->odp_rc,
				.ud_odp_caps = lim->odp_ud,
				.xrc_odp_caps = lim->odp_xrc,
			},
		},
		.timestamp_mask = U64_MAX,
		.hca_core_clock = TERN_CLOCK_KHZ,
		.max_dm_size = TERN_MAX_DM_BYTES,
		.cq_caps = {
			.max_cq_moderation_count = TERN_CQ_MAX_COUNT,
			.max_cq_moderation_period = TERN_CQ_MAX_PERIOD_US,
		},
	};
	return 0;
}

static int modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	return 0;
}

static void get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, TERN_VERSION, IB_FW_VERSION_NAME_MAX);
}

static int enable_driver(struct ib_device *ibdev)
{
	struct tern_dev *dev = to_tern_dev(ibdev);

	tern_qps_begin(dev);
	return dev->transport->enable ? dev->transport->enable(dev) : 0;
}

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct tern_dev *dev = to_tern_dev(attr->device);

	return dev->transport->add_gid ? dev->transport->add_gid(attr, context) : 0;
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct tern_dev *dev = to_tern_dev(attr->device);

	return dev->transport->del_gid ? dev->transport->del_gid(attr, context) : 0;
}

TERN_REG_USER_MR(reg_user_mr, tern_reg_user_mr)
TERN_REG_USER_MR_DMABUF(reg_user_mr_dmabuf, tern_reg_user_mr_dmabuf)
TERN_RESIZE_CQ(resize_cq, tern_resize_cq)
TERN_COUNTER_BIND_QP(counter_bind_qp, tern_counter_bind_qp)
TERN_COUNTER_UNBIND_QP(counter_unbind_qp, tern_counter_unbind_qp)

static const struct ib_device_ops tern_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)TERN_DRIVER_ID,
	.uverbs_abi_ver = TERN_ABI_VERSION,

	.add_gid = add_gid,
	.advise_mr = tern_advise_mr,
	.alloc_dm = tern_alloc_dm,
	.alloc_hw_port_stats = tern_alloc_hw_port_stats,
	.alloc_mr = tern_alloc_mr,
	.alloc_mw = tern_alloc_mw,
	.alloc_pd = tern_alloc_pd,
	.alloc_ucontext = tern_alloc_ucontext,
	.counter_alloc_stats = tern_counter_alloc_stats,
	.counter_bind_qp = counter_bind_qp,
	.counter_dealloc = tern_counter_dealloc,
	.counter_unbind_qp = counter_unbind_qp,
	.counter_update_stats = tern_counter_update_stats,
	TERN_COUNTER_OBJECT
	.create_cq = tern_create_cq,
	.create_qp = tern_create_qp,
	.create_srq = tern_create_srq,
	.dealloc_dm = tern_dealloc_dm,
	.dealloc_mw = tern_dealloc_mw,
	.dealloc_pd = tern_dealloc_pd,
	.dealloc_ucontext = tern_dealloc_ucontext,
	.del_gid = del_gid,
	.dereg_mr = tern_dereg_mr,
	.destroy_cq = tern_destroy_cq,
	.destroy_qp = tern_destroy_qp,
	.destroy_srq = tern_destroy_srq,
	.disassociate_ucontext = tern_disassociate_ucontext,
	.enable_driver = enable_driver,
	.fill_res_cq_entry = tern_fill_res_cq_entry,
	.fill_res_cq_entry_raw = tern_fill_res_cq_raw,
	.fill_res_mr_entry = tern_fill_res_mr_entry,
	.fill_res_mr_entry_raw = tern_fill_res_mr_raw,
	.fill_res_qp_entry = tern_fill_res_qp_entry,
	.fill_res_qp_entry_raw = tern_fill_res_qp_raw,
	TERN_FILL_RES_SRQ(tern_fill_res_srq_entry, tern_fill_res_srq_raw)
	.get_dev_fw_str = get_dev_fw_str,
	.get_dma_mr = tern_get_dma_mr,
	.get_hw_stats = tern_get_hw_stats,
	.get_link_layer = tern_get_link_layer,
	.get_port_immutable = tern_get_port_immutable,
	.map_mr_sg = tern_map_mr_sg,
	.mmap = tern_mmap,
	.mmap_free = tern_mmap_free,
	.modify_cq = tern_cq_moderate,
	.modify_device = modify_device,
	.modify_hw_stat = tern_modify_hw_stat,
	.modify_port = tern_modify_port,
	.modify_qp = tern_modify_qp,
	.modify_srq = tern_modify_srq,
	.poll_cq = tern_cq_poll,
	.process_mad = tern_process_mad,
	.post_recv = tern_post_recv,
	.post_send = tern_post_send,
	.post_srq_recv = tern_post_srq_recv,
	.query_device = query_device,
	.query_pkey = tern_query_pkey,
	.query_port = tern_query_port,
	.query_qp = tern_query_qp,
	.query_srq = tern_query_srq,
	.query_ucontext = tern_query_ucontext,
	.reg_dm_mr = tern_reg_dm_mr,
	.reg_user_mr = reg_user_mr,
	.reg_user_mr_dmabuf = reg_user_mr_dmabuf,
	.req_notify_cq = tern_cq_req_notify,
	.rereg_user_mr = tern_rereg_user_mr,
	.TERN_RESIZE_CQ_OP = resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, tern_cq_obj, cq.ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, tern_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, tern_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, tern_ibqp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, tern_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, tern_ucontext, ibuc),
};

static const struct uapi_definition tern_uapi_defs[] = {
	UAPI_DEF_CHAIN(tern_context_defs),
	UAPI_DEF_CHAIN(tern_dm_defs),
	{},
};

/* Verbs of devices with unconnected QPs. */
static const struct ib_device_ops tern_ud_ops = {
	.attach_mcast = tern_attach_mcast,
	.create_ah = tern_create_ah,
	.create_user_ah = tern_create_ah,
	.destroy_ah = tern_destroy_ah,
	.detach_mcast = tern_detach_mcast,
	.modify_ah = tern_modify_ah,
	.query_ah = tern_query_ah,

	INIT_RDMA_OBJ_SIZE(ib_ah, tern_ah, ibah),
};

/* Verbs of devices with XRC. */
static const struct ib_device_ops tern_xrc_ops = {
	.alloc_xrcd = tern_alloc_xrcd,
	.dealloc_xrcd = tern_dealloc_xrcd,

	INIT_RDMA_OBJ_SIZE(ib_xrcd, tern_xrcd, ibxrcd),
};

void tern_device_set_verbs(struct tern_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	ibdev->driver_def = tern_uapi_defs;
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	ib_set_device_ops(ibdev, &tern_device_ops);
	if (dev->transport->ah_init)
		ib_set_device_ops(ibdev, &tern_ud_ops);
	if (dev->transport->limits->max_xrcd)
		ib_set_device_ops(ibdev, &tern_xrc_ops);
	if (dev->transport->ib_ops)
		ib_set_device_ops(ibdev, dev->transport->ib_ops);
}
