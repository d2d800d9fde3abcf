// SPDX-License-Identifier: GPL-2.0
/* Creation of kernel QPs and address handles: each limit and one more, what is refused. */
#include <linux/err.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "conform.h"

/* More than any device's */
#define FAR_TOO_MUCH (1 << 20)

static struct ib_qp *try_qp(struct conform *c, struct ib_qp_init_attr *init)
{
	struct ib_qp *qp = ib_create_qp(c->pd, init);

	if (!IS_ERR(qp))
		ib_destroy_qp(qp);
	return qp;
}

static void expect_qp(struct conform *c, void (*change)(struct conform *c,
							struct ib_qp_init_attr *init), int error)
{
	struct ib_cq *cq = conform_cq(c, 64);
	struct ib_qp_init_attr init;

	if (!cq)
		return;
	conform_qp_init_attr(&init, cq, IB_QPT_RC);
	change(c, &init);
	EXPECT(c, REFUSAL(try_qp(c, &init)), error);
}

#define QP_CASE(name, error, ...)							\
	static void change_##name(struct conform *c, struct ib_qp_init_attr *init)	\
	{										\
		__VA_ARGS__;								\
	}										\
	static void qp_##name(struct conform *c)					\
	{										\
		expect_qp(c, change_##name, error);					\
	}

QP_CASE(send_wr, 0, init->cap.max_send_wr = c->dev->attrs.max_qp_wr)
QP_CASE(send_wr_beyond, -EINVAL, init->cap.max_send_wr = c->dev->attrs.max_qp_wr + 1)
QP_CASE(recv_wr, 0, init->cap.max_recv_wr = c->dev->attrs.max_qp_wr)
QP_CASE(recv_wr_beyond, -EINVAL, init->cap.max_recv_wr = c->dev->attrs.max_qp_wr + 1)
QP_CASE(send_sge, 0, init->cap.max_send_sge = c->dev->attrs.max_send_sge)
QP_CASE(send_sge_beyond, -EINVAL, init->cap.max_send_sge = c->dev->attrs.max_send_sge + 1)
QP_CASE(recv_sge, 0, init->cap.max_recv_sge = c->dev->attrs.max_recv_sge)
QP_CASE(recv_sge_beyond, -EINVAL, init->cap.max_recv_sge = c->dev->attrs.max_recv_sge + 1)
QP_CASE(inline_beyond, -EINVAL, init->cap.max_inline_data = FAR_TOO_MUCH)
QP_CASE(no_queues, 0, memset(&init->cap, 0, sizeof(init->cap)))
QP_CASE(raw_packet, -EOPNOTSUPP, init->qp_type = IB_QPT_RAW_PACKET)
QP_CASE(unknown_type, -EOPNOTSUPP, init->qp_type = IB_QPT_RESERVED1)
QP_CASE(xrc, -EOPNOTSUPP, init->qp_type = IB_QPT_XRC_INI)
QP_CASE(uc_over_iwarp, -EOPNOTSUPP, init->qp_type = IB_QPT_UC)
QP_CASE(ud_over_iwarp, -EOPNOTSUPP, init->qp_type = IB_QPT_UD)
QP_CASE(unknown_flag, -EOPNOTSUPP, init->create_flags = IB_QP_CREATE_RESERVED_START)
QP_CASE(gsi_port, -EINVAL, init->qp_type = IB_QPT_GSI; init->port_num = CONSUMER_PORT + 1)

static void qp_given(struct conform *c)
{
	struct ib_cq *cq = conform_cq(c, 64);
	struct ib_qp_init_attr init;

	if (!cq)
		return;
	conform_qp_init_attr(&init, cq, IB_QPT_RC);
	init.cap = (struct ib_qp_cap){ 5, 6, 2, 3, 16 };
	EXPECT(c, REFUSAL(try_qp(c, &init)), 0);
	EXPECT(c, init.cap.max_send_wr >= 5 && init.cap.max_recv_wr >= 6, true);
	EXPECT(c, init.cap.max_send_sge >= 2 && init.cap.max_recv_sge >= 3, true);
	EXPECT(c, init.cap.max_inline_data >= 16, true);
}

static void qp_query(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (!pair || !EXPECT(c, ib_query_qp(pair->near.qp, &attr, IB_QP_STATE | IB_QP_CAP, &init),
			     0))
		return;
	EXPECT(c, attr.qp_state, IB_QPS_RTS);
	EXPECT(c, init.cap.max_send_wr, pair->near.cap.max_send_wr);
	EXPECT(c, init.cap.max_recv_sge, pair->near.cap.max_recv_sge);
	EXPECT(c, init.send_cq == pair->near.cq && init.recv_cq == pair->near.cq, true);
	EXPECT(c, init.sq_sig_type, IB_SIGNAL_REQ_WR);
}

/* rdma_rw makes its regions with the QP. */
static void qp_rw(struct conform *c)
{
	struct ib_cq *cq = conform_cq(c, 64);
	struct ib_qp_init_attr init;

	if (!cq)
		return;
	conform_qp_init_attr(&init, cq, IB_QPT_RC);
	init.cap.max_rdma_ctxs = 4;
	init.port_num = CONSUMER_PORT;
	EXPECT(c, REFUSAL(try_qp(c, &init)), 0);
}

static void port_beyond(struct conform *c)
{
	struct ib_port_attr attr;

	EXPECT(c, ib_query_port(c->dev, CONSUMER_PORT, &attr), 0);
	EXPECT(c, attr.state, IB_PORT_ACTIVE);
	EXPECT(c, ib_query_port(c->dev, CONSUMER_PORT + 1, &attr), -EINVAL);
}

/* ---- address handles ---- */

static struct rdma_ah_attr own_way(const struct conform *c)
{
	return (struct rdma_ah_attr){
		.type = RDMA_AH_ATTR_TYPE_ROCE,
		.port_num = CONSUMER_PORT,
		.ah_flags = IB_AH_GRH,
		.grh = {
			.dgid = c->gid->gid,
			.sgid_index = c->gid->index,
			.hop_limit = 64,
		},
	};
}

static void ah_undo(void *ah)
{
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

static struct ib_ah *make_ah_to(struct conform *c, struct rdma_ah_attr *way, u32 flags)
{
	struct ib_ah *ah = rdma_create_ah(c->pd, way, flags);

	if (!EXPECT(c, REFUSAL(ah), 0))
		return NULL;
	conform_defer(c, ah_undo, ah);
	return ah;
}

static struct ib_ah *make_ah(struct conform *c, u32 flags)
{
	struct rdma_ah_attr way = own_way(c);

	return make_ah_to(c, &way, flags);
}

/* A datagram to the QP itself: 40 bytes for a GRH come before it. */
static void send_datagram_by(struct conform *c, struct ib_ah *ah)
{
	struct conform_end *end = ah ? conform_single(c, IB_QPT_UD, IB_QPS_RTS) : NULL;
	struct ib_qp_init_attr init;
	struct conform_work w;
	struct ib_qp_attr attr;

	if (!end || !EXPECT(c, ib_query_qp(end->qp, &attr, IB_QP_QKEY, &init), 0))
		return;
	conform_post_recv(end, 1024, 1);
	conform_work(&w, end, IB_WR_SEND_WITH_IMM, 64);
	w.sge[0].addr += 2048;
	w.send.ex.imm_data = htonl(0x12345678);
	w.ud.ah = ah;
	w.ud.remote_qpn = end->qp->qp_num;
	w.ud.remote_qkey = attr.qkey;
	EXPECT(c, conform_do(end, &w.send), 0);
	EXPECT(c, conform_wait(end, 1), 0);
	EXPECT(c, end->done[1].wc.byte_len, 40 + 64);
	EXPECT(c, end->done[1].wc.src_qp, end->qp->qp_num);
	EXPECT(c, ntohl(end->done[1].wc.ex.imm_data), 0x12345678);
	EXPECT(c, !(end->done[1].wc.wc_flags & IB_WC_GRH), false);
	EXPECT(c, memcmp(end->mem + 40, end->mem + 2048, 64), 0);
}

static void ah_sleepable(struct conform *c)
{
	send_datagram_by(c, make_ah(c, RDMA_CREATE_AH_SLEEPABLE));
}

static void ah_atomic(struct conform *c)
{
	send_datagram_by(c, make_ah(c, 0));
}

static void ah_query(struct conform *c)
{
	struct ib_ah *ah = make_ah(c, RDMA_CREATE_AH_SLEEPABLE);
	struct rdma_ah_attr attr = {};

	if (!ah)
		return;
	EXPECT(c, rdma_query_ah(ah, &attr), 0);
	EXPECT(c, memcmp(&attr.grh.dgid, &c->gid->gid, sizeof(c->gid->gid)), 0);
	EXPECT(c, attr.grh.sgid_index, c->gid->index);
}

/* It leads elsewhere first. */
static void ah_modify(struct conform *c)
{
	struct rdma_ah_attr way = own_way(c), attr = {};
	struct ib_ah *ah;

	way.grh.dgid.raw[15] ^= 0x55;
	ah = make_ah_to(c, &way, RDMA_CREATE_AH_SLEEPABLE);
	if (!ah)
		return;
	way = own_way(c);
	rdma_ah_set_sl(&way, 3);
	EXPECT(c, rdma_modify_ah(ah, &way), 0);
	EXPECT(c, rdma_query_ah(ah, &attr), 0);
	EXPECT(c, rdma_ah_get_sl(&attr), 3);
	EXPECT(c, memcmp(&attr.grh.dgid, &c->gid->gid, sizeof(c->gid->gid)), 0);
	send_datagram_by(c, ah);
}

static void ah_modify_refused(struct conform *c)
{
	struct ib_ah *ah = make_ah(c, RDMA_CREATE_AH_SLEEPABLE);
	struct rdma_ah_attr way = own_way(c);

	if (!ah)
		return;
	rdma_ah_set_sl(&way, 16);
	EXPECT(c, rdma_modify_ah(ah, &way), -EINVAL);
	way = own_way(c);
	way.grh.sgid_index = c->dev->port_data[CONSUMER_PORT].immutable.gid_tbl_len - 1;
	EXPECT(c, rdma_modify_ah(ah, &way) < 0, true);
	send_datagram_by(c, ah);
}

static void ah_bad_sgid(struct conform *c)
{
	struct rdma_ah_attr way = own_way(c);
	struct ib_ah *ah;

	way.grh.sgid_index = c->dev->port_data[CONSUMER_PORT].immutable.gid_tbl_len - 1;
	ah = rdma_create_ah(c->pd, &way, RDMA_CREATE_AH_SLEEPABLE);
	EXPECT(c, IS_ERR(ah), true);
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

const struct conform_case conform_qp_cases[] = {
	{ "gives_at_least_what_was_asked_for", qp_given },
	{ "query", qp_query },
	{ "with_regions_of_rdma_rw", qp_rw },
	{ "max_send_wr", qp_send_wr },
	{ "max_send_wr_of_one_more_is_refused", qp_send_wr_beyond },
	{ "max_recv_wr", qp_recv_wr },
	{ "max_recv_wr_of_one_more_is_refused", qp_recv_wr_beyond },
	{ "max_send_sge", qp_send_sge },
	{ "max_send_sge_of_one_more_is_refused", qp_send_sge_beyond },
	{ "max_recv_sge", qp_recv_sge },
	{ "max_recv_sge_of_one_more_is_refused", qp_recv_sge_beyond },
	{ "max_inline_data_of_1_MiB_is_refused", qp_inline_beyond },
	{ "without_queues", qp_no_queues },
	{ "RAW_PACKET_is_refused", qp_raw_packet },
	{ "unknown_type_is_refused", qp_unknown_type },
	{ "XRC_initiator_is_refused", qp_xrc },
	{ "UC_over_iWARP_is_refused", qp_uc_over_iwarp, CONFORM_IWARP },
	{ "UD_over_iWARP_is_refused", qp_ud_over_iwarp, CONFORM_IWARP },
	{ "unknown_create_flag_is_refused", qp_unknown_flag },
	{ "GSI_of_another_port_is_refused", qp_gsi_port, CONFORM_ROCE },
	{ "port_beyond_the_last_is_refused", port_beyond },
	{ "ah_made_where_one_may_sleep", ah_sleepable, CONFORM_ROCE },
	{ "ah_made_where_one_may_not", ah_atomic, CONFORM_ROCE },
	{ "ah_query", ah_query, CONFORM_ROCE },
	{ "ah_modify", ah_modify, CONFORM_ROCE },
	{ "ah_modify_refused_changes_nothing", ah_modify_refused, CONFORM_ROCE },
	{ "ah_of_an_empty_source_GID_is_refused", ah_bad_sgid, CONFORM_ROCE },
	{}
};
