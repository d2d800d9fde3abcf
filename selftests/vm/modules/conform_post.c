// SPDX-License-Identifier: GPL-2.0
/* Posting to kernel QPs: each opcode with the local DMA key, each error of the call itself. */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "conform.h"

#define IMM 0x12345678

/* ---- good ---- */

/* far's memory, all of it, for near. */
static struct ib_mr *open_far(struct conform *c, struct conform_pair *pair)
{
	struct ib_mr *mr = conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES);

	if (!mr || !EXPECT(c, conform_map(&pair->far, mr), 0) ||
	    !EXPECT(c, conform_reg(&pair->far, mr, CONSUMER_ACCESS), 0))
		return NULL;
	return mr;
}

static void post_rdma(struct conform *c, enum ib_wr_opcode opcode)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_mr *mr = pair ? open_far(c, pair) : NULL;

	if (!mr)
		return;
	EXPECT(c, conform_access(&pair->near, opcode, mr->iova, mr->rkey, CONFORM_BYTES), 0);
	EXPECT(c, memcmp(pair->near.mem, pair->far.mem, CONFORM_BYTES), 0);
	EXPECT(c, pair->near.done[0].wc.opcode,
	       opcode == IB_WR_RDMA_READ ? IB_WC_RDMA_READ : IB_WC_RDMA_WRITE);
}

static void post_write(struct conform *c)
{
	post_rdma(c, IB_WR_RDMA_WRITE);
}

static void post_read(struct conform *c)
{
	post_rdma(c, IB_WR_RDMA_READ);
}

static void post_write_imm(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_mr *mr = pair ? open_far(c, pair) : NULL;
	const struct ib_wc *wc;
	struct conform_work w;

	if (!mr)
		return;
	wc = &pair->far.done[1].wc;
	conform_post_recv(&pair->far, 0, 1);
	conform_rdma(&w, &pair->near, IB_WR_RDMA_WRITE_WITH_IMM, mr->iova, mr->rkey, 5000);
	w.send.ex.imm_data = htonl(IMM);
	EXPECT(c, conform_do(&pair->near, &w.send), 0);
	EXPECT(c, conform_wait(&pair->far, 1), 0);
	EXPECT(c, wc->opcode, IB_WC_RECV_RDMA_WITH_IMM);
	EXPECT(c, wc->byte_len, 5000);
	EXPECT(c, !(wc->wc_flags & IB_WC_WITH_IMM), false);
	EXPECT(c, ntohl(wc->ex.imm_data), IMM);
	EXPECT(c, memcmp(pair->near.mem, pair->far.mem, 5000), 0);
}

static void post_send(struct conform *c, enum ib_wr_opcode opcode, int flags, u32 bytes)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;

	if (!pair)
		return;
	conform_post_recv(&pair->far, CONFORM_BYTES, 1);
	conform_work(&w, &pair->near, opcode, bytes);
	w.send.send_flags |= flags;
	w.send.ex.imm_data = htonl(IMM);
	EXPECT(c, conform_do(&pair->near, &w.send), 0);
	EXPECT(c, pair->near.done[0].wc.opcode, IB_WC_SEND);
	EXPECT(c, conform_wait(&pair->far, 1), 0);
	EXPECT(c, pair->far.done[1].wc.byte_len, bytes);
	EXPECT(c, memcmp(pair->near.mem, pair->far.mem, bytes), 0);
	if (opcode == IB_WR_SEND_WITH_IMM)
		EXPECT(c, ntohl(pair->far.done[1].wc.ex.imm_data), IMM);
}

static void post_plain_send(struct conform *c)
{
	post_send(c, IB_WR_SEND, 0, CONFORM_BYTES);
}

static void post_send_imm(struct conform *c)
{
	post_send(c, IB_WR_SEND_WITH_IMM, IB_SEND_SOLICITED, 64);
}

static void post_send_fenced(struct conform *c)
{
	post_send(c, IB_WR_SEND, IB_SEND_FENCE, 64);
}

static void post_send_inline(struct conform *c)
{
	post_send(c, IB_WR_SEND, IB_SEND_INLINE, 32);
}

static void post_atomic(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_mr *mr = pair ? open_far(c, pair) : NULL;
	const u64 new = 0x1122334455667788;
	struct conform_work w;
	u64 old;

	if (!mr)
		return;
	memcpy(&old, pair->far.mem, sizeof(old));
	conform_work(&w, &pair->near, IB_WR_ATOMIC_CMP_AND_SWP, sizeof(u64));
	w.atomic.remote_addr = mr->iova;
	w.atomic.rkey = mr->rkey;
	w.atomic.compare_add = old;
	w.atomic.swap = new;
	EXPECT(c, conform_do(&pair->near, &w.send), 0);
	EXPECT(c, pair->near.done[0].wc.opcode, IB_WC_COMP_SWAP);
	EXPECT(c, memcmp(pair->near.mem, &old, sizeof(old)), 0);
	EXPECT(c, memcmp(pair->far.mem, &new, sizeof(new)), 0);
}

static void post_imm_iwarp(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;

	if (!pair)
		return;
	conform_work(&w, &pair->near, IB_WR_SEND_WITH_IMM, 64);
	EXPECT(c, conform_do(&pair->near, &w.send), IB_WC_LOC_QP_OP_ERR);
}

static void post_foreign_key(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_pd *pd = conform_pd(c, 0);
	struct conform_work w;

	if (!pair || !pd)
		return;
	conform_post_recv(&pair->far, 64, 1);
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	w.sge[0].lkey = pd->local_dma_lkey;
	EXPECT(c, conform_do(&pair->near, &w.send), IB_WC_LOC_PROT_ERR);
}

/* ---- errors of the call ---- */

/* The first of two is posted, and the second is the bad one. */
static void expect_refused(struct conform *c, struct conform_end *end, struct ib_send_wr *wr,
			   int error)
{
	const struct ib_send_wr *bad = NULL;
	struct conform_work good;

	conform_rdma(&good, end, IB_WR_RDMA_WRITE, 0, 0, 0);
	good.send.num_sge = 0;
	good.send.wr_cqe = &end->done[0].cqe;
	good.send.next = wr;
	wr->wr_cqe = &end->done[1].cqe;
	EXPECT(c, ib_post_send(end->qp, &good.send, &bad), error);
	EXPECT(c, bad == wr, true);
	EXPECT(c, conform_wait(end, 0), 0);
	EXPECT(c, completion_done(&end->done[1].completion), false);
}

static void refuse_opcodes(struct conform *c)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_LSO, IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
		IB_WR_REG_MR_INTEGRITY, IB_WR_RESERVED1, IB_WR_RESERVED10,
	};
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;
	u32 i;

	for (i = 0; pair && i < ARRAY_SIZE(opcodes); i++) {
		conform_work(&w, &pair->near, opcodes[i], 64);
		expect_refused(c, &pair->near, &w.send, -EINVAL);
	}
}

static void refuse_flag(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;

	if (!pair)
		return;
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	w.send.send_flags |= IB_SEND_IP_CSUM;
	expect_refused(c, &pair->near, &w.send, -EINVAL);
}

static void refuse_sges(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;

	if (!pair)
		return;
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	w.send.num_sge = pair->near.cap.max_send_sge + 1;
	expect_refused(c, &pair->near, &w.send, -EINVAL);
	w.send.num_sge = -1;
	expect_refused(c, &pair->near, &w.send, -EINVAL);
	w.send.num_sge = 1 << 16;
	expect_refused(c, &pair->near, &w.send, -EINVAL);
}

static void refuse_inline(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;

	if (!pair)
		return;
	conform_work(&w, &pair->near, IB_WR_SEND, pair->near.cap.max_inline_data + 1);
	w.send.send_flags |= IB_SEND_INLINE;
	expect_refused(c, &pair->near, &w.send, -EINVAL);
}

static void refuse_no_ah(struct conform *c)
{
	struct conform_end *end = conform_single(c, IB_QPT_UD, IB_QPS_RTS);
	const struct ib_send_wr *bad = NULL;
	struct conform_work w;

	if (!end)
		return;
	conform_work(&w, end, IB_WR_SEND, 64);
	EXPECT(c, ib_post_send(end->qp, &w.send, &bad), -EINVAL);
	EXPECT(c, bad == &w.send, true);
}

static void refuse_send_early(struct conform *c)
{
	static const enum ib_qp_state states[] = { IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR };
	struct conform_work w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct conform_end *end = conform_single(c, IB_QPT_RC, states[i]);

		if (!end)
			return;
		conform_work(&w, end, IB_WR_SEND, 64);
		EXPECT(c, ib_post_send(end->qp, &w.send, NULL), -EINVAL);
	}
}

static void refuse_recv_early(struct conform *c)
{
	struct conform_end *end = conform_single(c, IB_QPT_RC, IB_QPS_RESET);

	if (end)
		EXPECT(c, conform_post_recv(end, 64, 0), -EINVAL);
}

/* One list of more than the queue holds: nothing is taken from it until it is posted. */
static void refuse_full(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	const struct ib_send_wr *bad = NULL;
	struct conform_end *end;
	struct ib_rdma_wr *wrs;
	u32 i, most;

	if (!pair)
		return;
	end = &pair->near;
	most = end->cap.max_send_wr;
	wrs = kcalloc(most + 1, sizeof(*wrs), GFP_KERNEL);
	if (!EXPECT(c, !wrs, false))
		return;
	for (i = 0; i <= most; i++) {
		wrs[i].wr.opcode = IB_WR_RDMA_WRITE;
		wrs[i].wr.next = i < most ? &wrs[i + 1].wr : NULL;
	}
	wrs[most - 1].wr.send_flags = IB_SEND_SIGNALED;
	wrs[most - 1].wr.wr_cqe = &end->done[0].cqe;
	EXPECT(c, ib_post_send(end->qp, &wrs[0].wr, &bad), -ENOMEM);
	EXPECT(c, bad == &wrs[most].wr, true);
	EXPECT(c, conform_wait(end, 0), 0);
	kfree(wrs);
}

static void refuse_recv_full(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	u32 i;

	if (!pair)
		return;
	for (i = 0; i < pair->far.cap.max_recv_wr; i++)
		EXPECT(c, conform_post_recv(&pair->far, 64, 1), 0);
	EXPECT(c, conform_post_recv(&pair->far, 64, 1), -ENOMEM);
}

static void refuse_recv_sges(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr good = {}, wr = {};

	if (!pair)
		return;
	good.wr_cqe = &pair->far.done[0].cqe;
	good.next = &wr;
	wr.num_sge = pair->far.cap.max_recv_sge + 1;
	EXPECT(c, ib_post_recv(pair->far.qp, &good, &bad), -EINVAL);
	EXPECT(c, bad == &wr, true);
	wr.num_sge = -1;
	EXPECT(c, ib_post_recv(pair->far.qp, &wr, &bad), -EINVAL);
}

/* In ERR all that is posted is flushed. */
static void post_in_error(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct conform_work w;

	if (!pair)
		return;
	conform_to_error(&pair->near);
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	EXPECT(c, conform_do(&pair->near, &w.send), IB_WC_WR_FLUSH_ERR);
	EXPECT(c, conform_post_recv(&pair->near, 64, 1), 0);
	EXPECT(c, conform_wait(&pair->near, 1), IB_WC_WR_FLUSH_ERR);
}

const struct conform_case conform_post_cases[] = {
	{ "RDMA_WRITE", post_write },
	{ "RDMA_WRITE_WITH_IMM", post_write_imm },
	{ "RDMA_READ", post_read },
	{ "SEND", post_plain_send },
	{ "SEND_WITH_IMM", post_send_imm, CONFORM_ROCE },
	{ "SEND_WITH_IMM_over_iWARP_is_LOC_QP_OP_ERR", post_imm_iwarp, CONFORM_IWARP },
	{ "SEND_fenced", post_send_fenced },
	{ "SEND_inline", post_send_inline },
	{ "ATOMIC_CMP_AND_SWP", post_atomic },
	{ "dma_key_of_another_pd_is_LOC_PROT_ERR", post_foreign_key },
	{ "opcodes_of_others_are_refused", refuse_opcodes },
	{ "unknown_flag_is_refused", refuse_flag },
	{ "too_many_SGEs_are_refused", refuse_sges },
	{ "inline_data_beyond_the_limit_is_refused", refuse_inline },
	{ "datagram_without_an_ah_is_refused", refuse_no_ah, CONFORM_ROCE },
	{ "send_before_RTS_is_refused", refuse_send_early, CONFORM_ROCE },
	{ "receive_in_RESET_is_refused", refuse_recv_early, CONFORM_ROCE },
	{ "send_to_a_full_queue_is_ENOMEM", refuse_full },
	{ "receive_to_a_full_queue_is_ENOMEM", refuse_recv_full },
	{ "receive_of_too_many_SGEs_is_refused", refuse_recv_sges },
	{ "in_ERR_is_flushed", post_in_error },
	{}
};
