// SPDX-License-Identifier: GPL-2.0
/* Invalidation: IB_WR_LOCAL_INV, IB_WR_SEND_WITH_INV, iWARP's IB_WR_RDMA_READ_WITH_INV. */
#include <linux/err.h>
#include <linux/string.h>

#include "conform.h"

/* A pair, and a registered region of owner's memory, which is near's or far's. */
struct setup {
	struct conform_pair *pair;
	struct conform_end *near, *far;
	struct ib_mr *mr;
};

static bool set_up_pair(struct conform *c, struct setup *s)
{
	s->pair = conform_pair(c, NULL);
	if (!s->pair)
		return false;
	s->near = &s->pair->near;
	s->far = &s->pair->far;
	return true;
}

static bool set_up(struct conform *c, struct setup *s, bool at_far, int access)
{
	struct conform_end *owner;

	if (!set_up_pair(c, s))
		return false;
	owner = at_far ? s->far : s->near;
	s->mr = conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES);
	return s->mr && EXPECT(c, conform_map(owner, s->mr), 0) &&
	       EXPECT(c, conform_reg(owner, s->mr, access), 0);
}

/* A region of far's memory to read from. */
static struct ib_mr *make_source(struct conform *c, const struct setup *s)
{
	struct ib_mr *source = conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES);

	if (!source || !EXPECT(c, conform_map(s->far, source), 0) ||
	    !EXPECT(c, conform_reg(s->far, source, CONSUMER_ACCESS), 0))
		return NULL;
	return source;
}

/* ---- LOCAL_INV ---- */

static void local_good(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s, false, CONSUMER_ACCESS))
		return;
	EXPECT(c, conform_invalidate(s.near, s.mr->rkey), 0);
	EXPECT(c, s.near->done[0].wc.opcode, IB_WC_LOCAL_INV);
}

static void local_free(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s, false, CONSUMER_ACCESS))
		return;
	EXPECT(c, conform_invalidate(s.near, s.mr->rkey), 0);
	EXPECT(c, conform_invalidate(s.near, s.mr->rkey), 0);
}

static void local_without_rights(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s, false, 0))
		EXPECT(c, conform_invalidate(s.near, s.mr->rkey), 0);
}

static void local_former_key(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s, false, CONSUMER_ACCESS))
		EXPECT(c, conform_invalidate(s.near, s.mr->rkey - 1), IB_WC_LOC_QP_OP_ERR);
}

static void local_unknown(struct conform *c)
{
	struct setup s;

	if (set_up_pair(c, &s))
		EXPECT(c, conform_invalidate(s.near, 0x12345600), IB_WC_LOC_QP_OP_ERR);
}

static void local_dma_key(struct conform *c)
{
	struct setup s;

	if (set_up_pair(c, &s))
		EXPECT(c, conform_invalidate(s.near, c->pd->local_dma_lkey), IB_WC_LOC_QP_OP_ERR);
}

static void local_other_pd(struct conform *c)
{
	struct ib_pd *pd = conform_pd(c, 0);
	struct ib_mr *mr = pd ? conform_mr(c, pd, IB_MR_TYPE_MEM_REG, 1) : NULL;
	struct setup s;

	if (mr && set_up_pair(c, &s))
		EXPECT(c, conform_invalidate(s.near, mr->rkey), IB_WC_LOC_QP_OP_ERR);
}

static void local_on_ud(struct conform *c)
{
	struct conform_end *end = conform_single(c, IB_QPT_UD, IB_QPS_RTS);
	struct ib_mr *mr = end ? conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, 1) : NULL;

	if (mr)
		EXPECT(c, conform_invalidate(end, mr->rkey), IB_WC_LOC_QP_OP_ERR);
}

/* It waits for a READ into the region that is posted before it. */
static void local_behind_read(struct conform *c)
{
	struct ib_send_wr invalidate = { .opcode = IB_WR_LOCAL_INV,
					 .send_flags = IB_SEND_SIGNALED };
	struct conform_work w;
	struct ib_mr *source;
	struct setup s;

	if (!set_up(c, &s, false, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE))
		return;
	source = make_source(c, &s);
	if (!source)
		return;
	conform_rdma(&w, s.near, IB_WR_RDMA_READ, source->iova, source->rkey, CONFORM_BYTES);
	w.sge[0].lkey = s.mr->lkey;
	invalidate.wr_cqe = &s.near->done[1].cqe;
	invalidate.ex.invalidate_rkey = s.mr->rkey;
	w.send.next = &invalidate;
	EXPECT(c, conform_do(s.near, &w.send), 0);
	EXPECT(c, conform_wait(s.near, 1), 0);
	EXPECT(c, memcmp(s.near->mem, s.far->mem, CONFORM_BYTES), 0);
}

/* ---- SEND_WITH_INV ---- */

static int send_with_inv(const struct setup *s, u32 key)
{
	struct conform_work w;

	conform_post_recv(s->far, 64, 1);
	conform_work(&w, s->near, IB_WR_SEND_WITH_INV, 64);
	w.send.ex.invalidate_rkey = key;
	return conform_do(s->near, &w.send);
}

static void send_good(struct conform *c)
{
	const struct ib_wc *wc;
	struct setup s;

	if (!set_up(c, &s, true, CONSUMER_ACCESS))
		return;
	EXPECT(c, send_with_inv(&s, s.mr->rkey), 0);
	EXPECT(c, conform_wait(s.far, 1), 0);
	wc = &s.far->done[1].wc;
	EXPECT(c, !(wc->wc_flags & IB_WC_WITH_INVALIDATE), false);
	EXPECT(c, wc->ex.invalidate_rkey, s.mr->rkey);
	EXPECT(c, wc->opcode, IB_WC_RECV);
	EXPECT(c, wc->byte_len, 64);
	EXPECT(c, conform_access(s.near, IB_WR_RDMA_READ, s.mr->iova, s.mr->rkey, 64),
	       IB_WC_REM_ACCESS_ERR);
}

/* The region can be registered again. */
static void send_then_reg(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s, true, CONSUMER_ACCESS))
		return;
	EXPECT(c, send_with_inv(&s, s.mr->rkey), 0);
	EXPECT(c, conform_wait(s.far, 1), 0);
	EXPECT(c, conform_map(s.far, s.mr), 0);
	EXPECT(c, conform_reg(s.far, s.mr, CONSUMER_ACCESS), 0);
	EXPECT(c, conform_access(s.near, IB_WR_RDMA_READ, s.mr->iova, s.mr->rkey, 64), 0);
}

/* iWARP's SEND is complete when it is sent, or ends with what the peer's Terminate says. */
static void expect_send_refused(struct conform *c, const struct setup *s, u32 key)
{
	int status = send_with_inv(s, key);

	if (!conform_is_iwarp(c) || status)
		EXPECT(c, status, IB_WC_REM_ACCESS_ERR);
	EXPECT(c, conform_wait(s->far, 1), IB_WC_LOC_PROT_ERR);
	EXPECT(c, conform_has_event(s->far, IB_EVENT_QP_ACCESS_ERR), true);
}

static void send_unknown(struct conform *c)
{
	struct setup s;

	if (set_up_pair(c, &s))
		expect_send_refused(c, &s, 0x12345600);
}

static void send_former_key(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s, true, CONSUMER_ACCESS))
		expect_send_refused(c, &s, s.mr->rkey - 1);
}

static void send_without_rights(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s, true, IB_ACCESS_LOCAL_WRITE))
		expect_send_refused(c, &s, s.mr->rkey);
}

static void send_dma_key(struct conform *c)
{
	struct setup s;

	if (set_up_pair(c, &s))
		expect_send_refused(c, &s, c->pd->local_dma_lkey);
}

static void send_other_pd(struct conform *c)
{
	struct ib_pd *pd = conform_pd(c, 0);
	struct ib_mr *mr = pd ? conform_mr(c, pd, IB_MR_TYPE_MEM_REG, 1) : NULL;
	struct setup s;

	if (mr && set_up_pair(c, &s))
		expect_send_refused(c, &s, mr->rkey);
}

static void send_on_uc(struct conform *c)
{
	struct conform_end *end = conform_single(c, IB_QPT_UC, IB_QPS_RTS);
	struct conform_work w;

	if (!end)
		return;
	conform_work(&w, end, IB_WR_SEND_WITH_INV, 64);
	EXPECT(c, conform_do(end, &w.send), IB_WC_LOC_QP_OP_ERR);
}

/* ---- RDMA_READ_WITH_INV: the key of its sink is invalidated ---- */

static int read_with_inv(struct conform *c, const struct setup *s, u32 lkey, int sges)
{
	struct ib_mr *source = make_source(c, s);
	struct conform_work w;

	if (!source)
		return -EINVAL;
	conform_rdma(&w, s->near, IB_WR_RDMA_READ_WITH_INV, source->iova, source->rkey, 64);
	w.sge[0].lkey = lkey;
	w.sge[1] = w.sge[0];
	w.send.num_sge = sges;
	w.send.ex.invalidate_rkey = lkey;
	return conform_do(s->near, &w.send);
}

static void read_good(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s, false, CONSUMER_ACCESS))
		return;
	EXPECT(c, read_with_inv(c, &s, s.mr->lkey, 1), 0);
	EXPECT(c, s.near->done[0].wc.opcode, IB_WC_RDMA_READ);
	EXPECT(c, memcmp(s.near->mem, s.far->mem, 64), 0);
	EXPECT(c, conform_map(s.near, s.mr), 0);
	EXPECT(c, conform_reg(s.near, s.mr, CONSUMER_ACCESS), 0);
}

static void read_two_sges(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s, false, CONSUMER_ACCESS))
		EXPECT(c, read_with_inv(c, &s, s.mr->lkey, 2), IB_WC_LOC_QP_OP_ERR);
}

static void read_dma_key(struct conform *c)
{
	struct setup s;

	if (set_up_pair(c, &s))
		EXPECT(c, read_with_inv(c, &s, c->pd->local_dma_lkey, 1), IB_WC_LOC_PROT_ERR);
}

static void read_on_roce(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s, false, CONSUMER_ACCESS))
		EXPECT(c, read_with_inv(c, &s, s.mr->lkey, 1), IB_WC_LOC_QP_OP_ERR);
}

const struct conform_case conform_inv_cases[] = {
	{ "LOCAL_INV", local_good },
	{ "LOCAL_INV_of_a_free_region", local_free },
	{ "LOCAL_INV_without_remote_rights", local_without_rights },
	{ "LOCAL_INV_behind_a_read", local_behind_read },
	{ "LOCAL_INV_of_a_former_key_is_LOC_QP_OP_ERR", local_former_key },
	{ "LOCAL_INV_of_an_unknown_key_is_LOC_QP_OP_ERR", local_unknown },
	{ "LOCAL_INV_of_the_dma_key_is_LOC_QP_OP_ERR", local_dma_key },
	{ "LOCAL_INV_of_another_pd_is_LOC_QP_OP_ERR", local_other_pd },
	{ "LOCAL_INV_on_UD_is_LOC_QP_OP_ERR", local_on_ud, CONFORM_ROCE },
	{ "SEND_WITH_INV", send_good },
	{ "SEND_WITH_INV_then_registered_again", send_then_reg },
	{ "SEND_WITH_INV_of_an_unknown_key_is_REM_ACCESS_ERR", send_unknown },
	{ "SEND_WITH_INV_of_a_former_key_is_REM_ACCESS_ERR", send_former_key },
	{ "SEND_WITH_INV_without_remote_rights_is_REM_ACCESS_ERR", send_without_rights },
	{ "SEND_WITH_INV_of_the_dma_key_is_REM_ACCESS_ERR", send_dma_key },
	{ "SEND_WITH_INV_of_another_pd_is_REM_ACCESS_ERR", send_other_pd },
	{ "SEND_WITH_INV_on_UC_is_LOC_QP_OP_ERR", send_on_uc, CONFORM_ROCE },
	{ "RDMA_READ_WITH_INV", read_good, CONFORM_IWARP },
	{ "RDMA_READ_WITH_INV_of_two_SGEs_is_LOC_QP_OP_ERR", read_two_sges, CONFORM_IWARP },
	{ "RDMA_READ_WITH_INV_of_the_dma_key_is_LOC_PROT_ERR", read_dma_key, CONFORM_IWARP },
	{ "RDMA_READ_WITH_INV_over_RoCE_is_LOC_QP_OP_ERR", read_on_roce, CONFORM_ROCE },
	{}
};
