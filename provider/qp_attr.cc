// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: attributes, states, multicast membership. */
#include "qp_attr.h"

#include <cerrno>

#include "ah.h"
#include "command.h"
#include "cq.h"
#include "verbs.h"

namespace tern {
namespace {

int command_query(ibv_qp *qp, int mask, ib_uverbs_query_qp_resp *resp)
{
	const ib_uverbs_query_qp req = {
		.response = 0, .qp_handle = qp->handle, .attr_mask = static_cast<uint32_t>(mask)};

	return WriteCommand(IB_USER_VERBS_CMD_QUERY_QP, req).resp(resp).run(qp->context->cmd_fd);
}

/* The only form of the command that has a rate. */
int command_modify_ex(ibv_qp *qp, const ib_uverbs_ex_modify_qp &req, uint32_t max_burst_bytes)
{
	const tern_modify_qp_req driver = {max_burst_bytes, 0};
	ib_uverbs_ex_modify_qp_resp resp{};

	if (!to_context(qp->context)->rate_limits)
		return EOPNOTSUPP;
	return WriteCommand(extended(IB_USER_VERBS_EX_CMD_MODIFY_QP), req)
		.driver_req(driver)
		.resp(&resp)
		.run(qp->context->cmd_fd);
}

/* The requests to attach and to detach are the same. */
int command_mcast(ibv_qp *qp, uint32_t number, const ibv_gid *gid, uint16_t lid)
{
	ib_uverbs_attach_mcast req{};
	static_assert(sizeof(req) == sizeof(ib_uverbs_detach_mcast));

	memcpy(req.gid, gid->raw, sizeof(req.gid));
	req.qp_handle = qp->handle;
	req.mlid = lid;
	return WriteCommand(number, req).run(qp->context->cmd_fd);
}

void ah_from_dest(const ib_uverbs_qp_dest &dest, ibv_ah_attr *ah)
{
	memcpy(ah->grh.dgid.raw, dest.dgid, sizeof(dest.dgid));
	ah->grh.flow_label = dest.flow_label;
	ah->dlid = dest.dlid;
	ah->grh.sgid_index = dest.sgid_index;
	ah->grh.hop_limit = dest.hop_limit;
	ah->grh.traffic_class = dest.traffic_class;
	ah->sl = dest.sl;
	ah->src_path_bits = dest.src_path_bits;
	ah->static_rate = dest.static_rate;
	ah->is_global = dest.is_global;
	ah->port_num = dest.port_num;
}

/* Reads only what the mask names: the rest of *attr need not be initialised. */
void fill_modify(const ibv_qp_attr &attr, int mask, ib_uverbs_modify_qp *req)
{
	req->attr_mask = static_cast<uint32_t>(mask);
	if (mask & IBV_QP_STATE)
		req->qp_state = static_cast<uint8_t>(attr.qp_state);
	if (mask & IBV_QP_CUR_STATE)
		req->cur_qp_state = static_cast<uint8_t>(attr.cur_qp_state);
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		req->en_sqd_async_notify = attr.en_sqd_async_notify;
	if (mask & IBV_QP_ACCESS_FLAGS)
		req->qp_access_flags = attr.qp_access_flags;
	if (mask & IBV_QP_PKEY_INDEX)
		req->pkey_index = attr.pkey_index;
	if (mask & IBV_QP_PORT)
		req->port_num = attr.port_num;
	if (mask & IBV_QP_QKEY)
		req->qkey = attr.qkey;
	if (mask & IBV_QP_AV)
		fill_address(attr.ah_attr, &req->dest, &req->dest);
	if (mask & IBV_QP_PATH_MTU)
		req->path_mtu = static_cast<uint8_t>(attr.path_mtu);
	if (mask & IBV_QP_TIMEOUT)
		req->timeout = attr.timeout;
	if (mask & IBV_QP_RETRY_CNT)
		req->retry_cnt = attr.retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		req->rnr_retry = attr.rnr_retry;
	if (mask & IBV_QP_RQ_PSN)
		req->rq_psn = attr.rq_psn;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		req->max_rd_atomic = attr.max_rd_atomic;
	if (mask & IBV_QP_ALT_PATH) {
		fill_address(attr.alt_ah_attr, &req->alt_dest, &req->alt_dest);
		req->alt_pkey_index = attr.alt_pkey_index;
		req->alt_port_num = attr.alt_port_num;
		req->alt_timeout = attr.alt_timeout;
	}
	if (mask & IBV_QP_MIN_RNR_TIMER)
		req->min_rnr_timer = attr.min_rnr_timer;
	if (mask & IBV_QP_SQ_PSN)
		req->sq_psn = attr.sq_psn;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		req->max_dest_rd_atomic = attr.max_dest_rd_atomic;
	if (mask & IBV_QP_PATH_MIG_STATE)
		req->path_mig_state = static_cast<uint8_t>(attr.path_mig_state);
	if (mask & IBV_QP_DEST_QPN)
		req->dest_qp_num = attr.dest_qp_num;
}

bool can_send(ibv_qp_state state)
{
	return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

bool can_receive(ibv_qp_state state)
{
	return state != IBV_QPS_RESET;
}

/* Only on iWARP can the library's copy of the state be older than the kernel's. */
int state_error(ibv_qp *qp, bool (*can)(ibv_qp_state))
{
	ib_uverbs_query_qp_resp resp{};

	if (can(qp->state))
		return 0;
	if (!is_iwarp(qp->context) || command_query(qp, IBV_QP_STATE, &resp))
		return EINVAL;
	qp->state = static_cast<ibv_qp_state>(resp.qp_state);
	return can(qp->state) ? 0 : EINVAL;
}

} // namespace

/* libibverbs sets qp->state. */
int modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask)
{
	ib_uverbs_ex_modify_qp req{};
	int err;

	req.base.qp_handle = qp->handle;
	fill_modify(*attr, mask, &req.base);
	if (mask & IBV_QP_RATE_LIMIT) {
		req.rate_limit = attr->rate_limit;
		err = command_modify_ex(qp, req, 0);
	} else {
		err = WriteCommand(IB_USER_VERBS_CMD_MODIFY_QP, req.base).run(qp->context->cmd_fd);
	}
	if (err)
		return err;

	/* A reset QP starts anew: nothing posted before it completes. */
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		cq_forget_qp(qp);
	return 0;
}

/* A typical packet size is a hint, which no rate here depends on. */
int modify_qp_rate_limit(ibv_qp *qp, ibv_qp_rate_limit_attr *attr)
{
	ib_uverbs_ex_modify_qp req{};

	if (attr->comp_mask || (!attr->rate_limit && (attr->max_burst_sz || attr->typical_pkt_sz)))
		return EINVAL;
	req.base.qp_handle = qp->handle;
	req.base.attr_mask = static_cast<uint32_t>(IBV_QP_RATE_LIMIT);
	req.rate_limit = attr->rate_limit;
	return command_modify_ex(qp, req, attr->max_burst_sz);
}

int query_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask, ibv_qp_init_attr *init_attr)
{
	ib_uverbs_query_qp_resp resp{};
	int err;

	if (mask & IBV_QP_RATE_LIMIT)
		return EOPNOTSUPP;
	err = command_query(qp, mask, &resp);
	if (err)
		return err;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = static_cast<ibv_qp_state>(resp.qp_state);
	attr->cur_qp_state = static_cast<ibv_qp_state>(resp.cur_qp_state);
	attr->path_mtu = static_cast<ibv_mtu>(resp.path_mtu);
	attr->path_mig_state = static_cast<ibv_mig_state>(resp.path_mig_state);
	attr->qkey = resp.qkey;
	attr->rq_psn = resp.rq_psn;
	attr->sq_psn = resp.sq_psn;
	attr->dest_qp_num = resp.dest_qp_num;
	attr->qp_access_flags = resp.qp_access_flags;
	attr->cap.max_send_wr = resp.max_send_wr;
	attr->cap.max_recv_wr = resp.max_recv_wr;
	attr->cap.max_send_sge = resp.max_send_sge;
	attr->cap.max_recv_sge = resp.max_recv_sge;
	attr->cap.max_inline_data = to_qp(qp)->limits.max_inline;
	ah_from_dest(resp.dest, &attr->ah_attr);
	ah_from_dest(resp.alt_dest, &attr->alt_ah_attr);
	attr->pkey_index = resp.pkey_index;
	attr->alt_pkey_index = resp.alt_pkey_index;
	attr->sq_draining = resp.sq_draining;
	attr->max_rd_atomic = resp.max_rd_atomic;
	attr->max_dest_rd_atomic = resp.max_dest_rd_atomic;
	attr->min_rnr_timer = resp.min_rnr_timer;
	attr->port_num = resp.port_num;
	attr->timeout = resp.timeout;
	attr->retry_cnt = resp.retry_cnt;
	attr->rnr_retry = resp.rnr_retry;
	attr->alt_port_num = resp.alt_port_num;
	attr->alt_timeout = resp.alt_timeout;

	init_attr->qp_context = qp->qp_context;
	init_attr->send_cq = qp->send_cq;
	init_attr->recv_cq = qp->recv_cq;
	init_attr->srq = qp->srq;
	init_attr->cap = attr->cap;
	init_attr->qp_type = qp->qp_type;
	init_attr->sq_sig_all = resp.sq_sig_all;
	return 0;
}

/* A connection to tern takes no options: none of any vendor. */
int query_ece(ibv_qp * /*qp*/, ibv_ece *ece)
{
	*ece = {};
	return 0;
}

/* librdmacm, which offers those of the peer, looks at errno, and goes on without them. */
int set_ece(ibv_qp * /*qp*/, ibv_ece *ece)
{
	errno = ece->comp_mask ? EINVAL : EOPNOTSUPP;
	return errno;
}

/*
 * 1: every byte of a message that arrives is seen only after those before it. 0: only the last
 * bytes come last. That is all that there is to ask, whatever the flags (newer libraries').
 */
int query_qp_data_in_order(ibv_qp *qp, ibv_wr_opcode op, uint32_t /*flags*/)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_READ:
		return to_context(qp->context)->in_order;
	default:
		return 0;
	}
}

int send_state_error(Qp *qp)
{
	return qp->sq.exists() ? state_error(&qp->vqp.qp, can_send) : EINVAL;
}

int recv_state_error(Qp *qp)
{
	return qp->rq.exists() ? state_error(&qp->vqp.qp, can_receive) : EINVAL;
}

int attach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid)
{
	return command_mcast(qp, IB_USER_VERBS_CMD_ATTACH_MCAST, gid, lid);
}

int detach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid)
{
	return command_mcast(qp, IB_USER_VERBS_CMD_DETACH_MCAST, gid, lid);
}

} // namespace tern
