// SPDX-License-Identifier: GPL-2.0
/*
 * A QP's stream begins: engines and buffers for the terms that were agreed on.
 */
#include "charged.h"
#include "core/qp.h"
#include "iwarp/stream/frame.h"
#include "iwarp/stream/start.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/work.h"
#include "iwarp/stream/zerocopy.h"

/* What a stream takes, beside the QP. */
struct resources {
	struct iw_irq *irq;
	u8 *bounce;
	struct iw_zc *zc;
};

static void free_resources(struct resources *r)
{
	iw_zc_destroy(r->zc);
	kvfree(r->irq);
	kvfree(r->bounce);
}

static int alloc_resources(struct resources *r, struct iw_qp *qp, const struct mpa_terms *terms)
{
	*r = (struct resources){};
	r->irq = tern_table_alloc(iw_irq_entries(terms->ird), sizeof(*r->irq));
	if (!r->irq)
		return -ENOMEM;
	if (terms->tx_markers) {
		r->bounce = tern_table_alloc(1, IW_MAX_FPDU_BYTES);
		if (!r->bounce) {
			free_resources(r);
			return -ENOMEM;
		}
	}
	if (!terms->crc && !terms->tx_markers && terms->long_fpdus)
		r->zc = iw_zc_create(qp);
	return 0;
}

static void init_engines(struct iw_qp *qp, const struct mpa_terms *terms)
{
	const struct tern_sq *sq = &qp->base.sq;
	struct iw_resp_cfg resp = {
		/* All that fit: siw, told a depth, rounds it up to a power of two. */
		.ird = terms->ird ? (u16)iw_irq_entries(terms->ird) : 0,
		/* rdma_cm gives a QP that connects no rights at all: the keys' decide. */
		.access = IW_ACCESS_WRITE | IW_ACCESS_READ | IW_ACCESS_ATOMIC,
	};
	struct iw_req_cfg req = {
		.ord = terms->ord,
		.max_lent_bytes = IW_ZC_FPDU_BYTES,
	};

	/* Nothing was taken before: engine and queue count alike. */
	iw_req_init(&qp->req, qp->sqe, sq->ring->nslots, sq->head, &req);
	iw_resp_init(&qp->resp, qp->irq, &resp);
}

/* run_lock held. */
static void start_stream(struct iw_qp *qp, struct sock *sk, const struct mpa_terms *terms,
			 bool active)
{
	struct tern_qp *base = &qp->base;

	init_engines(qp, terms);
	qp->terms = *terms;
	/* The initiator sends first (RFC 5044 7.1.2), in peer-to-peer mode at once. */
	qp->tx.hold = !active;
	qp->tx.rtr = active && terms->p2p;
	iw_work_start_opening(qp, terms->p2p);
	qp->sk = sk;
	base->attr.max_rd_atomic = min_t(u16, terms->ord, U8_MAX);
	base->attr.max_dest_rd_atomic = min_t(u16, terms->ird, U8_MAX);
	tern_qp_set_state(base, IB_QPS_RTS);
	qp->ready = true;
}

int iw_qp_start(struct iw_qp *qp, struct sock *sk, const struct mpa_terms *terms, bool active)
{
	struct resources r;
	int err;

	err = alloc_resources(&r, qp, terms);
	if (err)
		return err;
	spin_lock_bh(&qp->base.run_lock);
	if (qp->base.dead || !iw_qp_may_connect(qp) || qp->ready) {
		err = -EINVAL;
	} else {
		swap(qp->irq, r.irq);
		swap(qp->tx.bounce, r.bounce);
		swap(qp->tx.zc, r.zc);
		start_stream(qp, sk, terms, active);
	}
	spin_unlock_bh(&qp->base.run_lock);
	free_resources(&r);
	return err;
}

void iw_qp_depths(const struct iw_qp *qp, u8 *ird, u8 *ord)
{
	*ird = qp->base.attr.max_dest_rd_atomic;
	*ord = qp->base.attr.max_rd_atomic;
}
