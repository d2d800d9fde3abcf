// SPDX-License-Identifier: GPL-2.0
/*
 * What `rdma -dd resource show` adds to ib_core's own view of the driver's
 * objects, and the raw dumps of uapi/tern-dump.h. ib_core's part of an object
 * exists while it looks, and with it the driver's part of a CQ or SRQ, but not
 * its ring. The driver's part of a QP, and a region, may be gone.
 */
#include <net/netlink.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "core/qp.h"
#include "core/srq.h"
#include "core/transport.h"
#include "mem/odp.h"
#include "mem/region.h"
#include "tern-dump.h"
#include "verbs/cq.h"
#include "verbs/res.h"

struct res_u32 {
	const char *name;
	u32 value;
};

static int put_table(struct sk_buff *msg, const struct res_u32 *res, size_t n, const char *way)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	size_t i;

	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		if (rdma_nl_put_driver_u32(msg, res[i].name, res[i].value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	if (way && rdma_nl_put_driver_string(msg, "path", way)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int tern_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct res_u32 res[] = {
		{ "sq_wqes" }, { "sq_taken" }, { "sq_retired" }, { "rq_wqes" }, { "rq_taken" },
	};
	const struct tern_transport_ops *ops;
	struct tern_qp *qp = tern_qp_hold(ibqp);
	const char *way;

	if (!qp)
		return -EAGAIN;
	ops = qp->dev->transport;
	res[0].value = qp->sq.max_wr;
	res[1].value = READ_ONCE(qp->sq.head);
	res[2].value = READ_ONCE(qp->sq.tail);
	res[3].value = qp->rq.max_wr;
	res[4].value = READ_ONCE(qp->rq.head);
	way = ops->qp_way ? ops->qp_way(qp) : NULL;
	tern_qp_put(qp);
	return put_table(msg, res, ARRAY_SIZE(res), way);
}

int tern_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	const struct tern_cq *cq = &to_tern_cq_obj(ibcq)->cq;
	const struct res_u32 res[] = {
		{ "completions", READ_ONCE(cq->prod) },
		{ "overrun", READ_ONCE(cq->dead) },
		{ "event_count", READ_ONCE(cq->mod_count) },
		{ "event_period_us", READ_ONCE(cq->mod_period_us) },
	};

	return put_table(msg, res, ARRAY_SIZE(res), NULL);
}

int tern_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct tern_mr *mr = container_of(ibmr, struct tern_mr, ibmr);
	struct res_u32 res[] = { { "blocks" }, { "block_shift" }, { "bound_windows" },
				 { "odp_tables" } };
	const struct tern_region *region;

	/* rereg may replace the region. The old one is freed after a grace period. */
	rcu_read_lock();
	region = READ_ONCE(mr->region);
	res[0].value = region->nblocks;
	res[1].value = region->block_shift;
	res[2].value = atomic_read(&region->bound_windows);
	res[3].value = tern_odp_tables(region);
	rcu_read_unlock();
	return put_table(msg, res, ARRAY_SIZE(res), NULL);
}

int tern_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	const struct tern_srq *srq = to_tern_srq(ibsrq);
	const struct res_u32 res[] = {
		{ "rq_wqes", READ_ONCE(srq->rq.max_wr) },
		{ "rq_taken", READ_ONCE(srq->rq.head) },
		{ "limit", READ_ONCE(srq->rq.limit) },
	};

	return put_table(msg, res, ARRAY_SIZE(res), NULL);
}

/* ---- raw: only for those with CAP_NET_ADMIN, as ib_core sees to ---- */

#define DUMP_HDR(KIND, dump)	{ .kind = TERN_DUMP_##KIND, .version = TERN_DUMP_VERSION, \
				  .bytes = sizeof(dump) }

static_assert((int)TERN_DUMP_MR_USER == TERN_REGION_USER);
static_assert((int)TERN_DUMP_MR_DMA == TERN_REGION_DMA);
static_assert((int)TERN_DUMP_MR_ON_DEMAND == TERN_REGION_ODP);
static_assert((int)TERN_DUMP_MR_FAST == TERN_REGION_FAST);
static_assert((int)TERN_DUMP_MR_MAPPED == TERN_REGION_MAPPED);
static_assert((int)TERN_DUMP_MR_FREE == TERN_REGION_FREE);
static_assert((int)TERN_DUMP_MR_VALID == TERN_REGION_VALID);
static_assert((int)TERN_DUMP_MR_CLOSING == TERN_REGION_CLOSING);
static_assert((int)TERN_DUMP_MR_DEAD == TERN_REGION_DEAD);

int tern_fill_res_qp_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct tern_dump_qp dump = { .hdr = DUMP_HDR(QP, dump) };
	struct tern_qp *qp = tern_qp_hold(ibqp);

	if (!qp)
		return -EAGAIN;
	qp->dev->transport->qp_dump(qp, &dump);
	tern_qp_put(qp);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}

int tern_fill_res_cq_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct tern_dump_cq dump = { .hdr = DUMP_HDR(CQ, dump) };

	if (!tern_cq_dump(&to_tern_cq_obj(ibcq)->cq, &dump))
		return -EAGAIN;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}

int tern_fill_res_mr_raw(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct tern_mr *mr = container_of(ibmr, struct tern_mr, ibmr);
	struct tern_dump_mr dump = { .hdr = DUMP_HDR(MR, dump) };
	const struct tern_region *region;

	/* As above. Of a region that changes meanwhile each member is as before or after. */
	rcu_read_lock();
	region = READ_ONCE(mr->region);
	/* A kernel consumer's is a kernel address. */
	if (region->kind != TERN_REGION_FAST)
		dump.iova = READ_ONCE(region->iova);
	dump.length = READ_ONCE(region->length);
	dump.access = READ_ONCE(region->access);
	dump.kind = region->kind;
	dump.state = READ_ONCE(region->state);
	dump.block_shift = READ_ONCE(region->block_shift);
	dump.blocks = READ_ONCE(region->nblocks);
	dump.bound_windows = atomic_read(&region->bound_windows);
	dump.odp_tables = tern_odp_tables(region);
	rcu_read_unlock();
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}

int tern_fill_res_srq_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct tern_dump_srq dump = { .hdr = DUMP_HDR(SRQ, dump) };
	struct tern_srq *srq = to_tern_srq(ibsrq);

	if (!tern_rq_dump(&srq->rq, &dump.rq))
		return -EAGAIN;
	dump.srqn = srq->srqn;
	dump.limit = READ_ONCE(srq->rq.limit);
	dump.max_sge = srq->rq.max_sge;
	dump.is_xrc = !!srq->xrcd;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
}
