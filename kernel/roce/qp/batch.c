// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of runs into a QP's batch, and the batch to the stack. Which run comes next is
 * the engines' and carry.c's, what a packet looks like is wire/build.c's.
 */
#include "core/stats.h"
#include "mem/sgl.h"
#include "mem/span.h"
#include "proto/rc_ack.h"
#include "roce/qp/batch.h"
#include "roce/qp/time.h"
#include "roce/qp/window.h"
#include "roce/wire/source.h"
#include "uncleared.h"

bool roce_batch_send(struct roce_qp *qp)
{
	int ret;

	if (!qp->tx.batch.head)
		return true;
	ret = roce_tx_flush(&qp->tx, &qp->path);
	qp->now_ns = 0;
	if (unlikely(qp->window_cut != !!qp->tx.cut_max_bytes) && qp->req_ready)
		roce_window_suit(qp);

	if (unlikely(ret == -EAGAIN)) {
		if (qp->batch.has_requests)
			rc_req_unsend(&qp->req, qp->batch.psn);
		if (qp->batch.has_ack)
			rc_resp_unsend_ack(&qp->resp);
		roce_tx_after_refusal(qp);
	}
	qp->batch.has_requests = false;
	qp->batch.has_ack = false;
	return ret != -EAGAIN;	/* other errors: lost, as on the wire */
}

bool roce_batch_make_room(struct roce_qp *qp, const struct run *run)
{
	struct pkt k TERN_UNCLEARED;

	run_pkt(run, 0, &k);
	return roce_tx_fits(&qp->tx, &k) || roce_batch_send(qp);
}

/* A run's payload being read, packet by packet. */
struct reader {
	const struct roce_source *src;
	bool in_pieces;		/* read more than once, so by sgl */
	struct tern_sgl sgl;
};

static void reader_begin(struct reader *reader, const struct roce_source *src, u32 npkts)
{
	reader->src = src;
	reader->in_pieces = npkts > 1 && src->sge;
	if (reader->in_pieces)
		tern_sgl_begin(&reader->sgl, src->mem, src->sge, src->num_sge, 0);
}

static void reader_end(struct reader *reader)
{
	if (reader->in_pieces)
		tern_sgl_end(&reader->sgl);
}

/* 0, or the memory refuses. */
static int read_payload(struct reader *reader, u64 off, void *dst, u32 n)
{
	const struct roce_source *src = reader->src;

	off += src->off;
	if (reader->in_pieces)
		return tern_sgl_read(&reader->sgl, off, dst, n);
	if (src->sge)
		return tern_sges_read(src->mem, src->sge, src->num_sge, off, dst, n);
	if (src->span)
		tern_span_read(src->span, off, dst, n);
	else
		memcpy(dst, src->flat + off, n);
	return 0;
}

int roce_batch_run(struct roce_qp *qp, const struct run *run, const struct roce_source *src,
		   u32 *sent)
{
	struct reader reader TERN_UNCLEARED;
	struct pkt k TERN_UNCLEARED;
	int ret = 0;
	u32 i;

	reader_begin(&reader, src, run->npkts);
	for (i = 0; i < run->npkts; i++) {
		void *dst;

		run_pkt(run, i, &k);
		if (!roce_tx_fits(&qp->tx, &k))
			break;
		dst = roce_tx_begin(&qp->tx, &qp->path, &k);
		if (!dst) {
			roce_tx_later(qp, NSEC_PER_MSEC);
			ret = -EAGAIN;
			break;
		}
		if (k.payload_bytes)
			ret = read_payload(&reader, (u64)i * run->pmtu, dst, k.payload_bytes);
		if (unlikely(ret)) {
			roce_tx_cancel(&qp->tx);
			break;
		}
		roce_tx_end(&qp->tx, &qp->path, &k);
	}
	reader_end(&reader);
	*sent = i;
	return ret;
}

bool roce_batch_ack(struct roce_qp *qp)
{
	struct pkt k TERN_UNCLEARED;

	rc_resp_take_ack(&qp->resp, &k);
	if (!roce_tx_fits(&qp->tx, &k) && !roce_batch_send(qp))
		goto not_now;
	if (!roce_tx_begin(&qp->tx, &qp->path, &k)) {
		roce_tx_later(qp, NSEC_PER_MSEC);
		goto not_now;
	}
	roce_tx_end(&qp->tx, &qp->path, &k);
	qp->batch.has_ack = true;
	return true;

not_now:
	rc_resp_unsend_ack(&qp->resp);
	return false;
}

void roce_batch_cnp(struct roce_qp *qp)
{
	struct pkt k = {};

	cnp_fill(&k, qp->base.attr.dest_qp_num, PKEY_DEFAULT);
	if ((!roce_tx_fits(&qp->tx, &k) && !roce_batch_send(qp)) ||
	    !roce_tx_begin(&qp->tx, &qp->path, &k))
		return;
	roce_tx_end(&qp->tx, &qp->path, &k);
	tern_qp_count(&qp->base, TERN_CNT_TX_CNP);
}
