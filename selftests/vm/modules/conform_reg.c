// SPDX-License-Identifier: GPL-2.0
/* IB_WR_REG_MR: what a registration opens and to whom, and each reason to refuse one. */
#include <linux/err.h>
#include <linux/string.h>

#include "conform.h"

#define OTHER_IOVA 0x123456780000ULL

/* A pair, and a region of far's memory that is mapped, but not registered. */
struct setup {
	struct conform_pair *pair;
	struct ib_mr *mr;
};

static bool set_up_in(struct conform *c, struct setup *s, struct ib_pd *pd, enum ib_mr_type type)
{
	s->pair = conform_pair(c, NULL);
	if (!s->pair)
		return false;
	s->mr = conform_mr(c, pd, type, CONFORM_PAGES);
	return s->mr && EXPECT(c, conform_map(&s->pair->far, s->mr), 0);
}

static bool set_up(struct conform *c, struct setup *s)
{
	return set_up_in(c, s, c->pd, IB_MR_TYPE_MEM_REG);
}

static bool set_up_with(struct conform *c, struct setup *s, int access)
{
	return set_up(c, s) && EXPECT(c, conform_reg(&s->pair->far, s->mr, access), 0);
}

static int use(const struct setup *s, enum ib_wr_opcode opcode, u64 addr, u32 bytes)
{
	return conform_access(&s->pair->near, opcode, addr, s->mr->rkey, bytes);
}

/* Bytes of far's memory, which begins at iova, are written and read. */
static void move_bytes(struct conform *c, const struct setup *s, u64 iova)
{
	u8 *near = s->pair->near.mem, *far = s->pair->far.mem;

	EXPECT(c, use(s, IB_WR_RDMA_WRITE, iova + 1, 5000), 0);
	EXPECT(c, memcmp(near, far + 1, 5000), 0);
	EXPECT(c, use(s, IB_WR_RDMA_READ, iova + 6000, 7000), 0);
	EXPECT(c, memcmp(near, far + 6000, 7000), 0);
}

static void check_data(struct conform *c)
{
	struct setup s;

	if (set_up_with(c, &s, CONSUMER_ACCESS))
		move_bytes(c, &s, s.mr->iova);
}

static void check_gaps(struct conform *c)
{
	struct setup s;

	if (set_up_in(c, &s, c->pd, IB_MR_TYPE_SG_GAPS) &&
	    EXPECT(c, conform_reg(&s.pair->far, s.mr, CONSUMER_ACCESS), 0))
		move_bytes(c, &s, s.mr->iova);
}

static void check_large_pages(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s))
		return;
	EXPECT(c, ib_map_mr_sg(s.mr, s.pair->far.sg, CONFORM_PAGES, NULL, 2 * PAGE_SIZE),
	       CONFORM_PAGES);
	if (EXPECT(c, conform_reg(&s.pair->far, s.mr, CONSUMER_ACCESS), 0))
		move_bytes(c, &s, s.mr->iova);
}

static void check_other_iova(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s))
		return;
	s.mr->iova = OTHER_IOVA;
	if (EXPECT(c, conform_reg(&s.pair->far, s.mr, CONSUMER_ACCESS), 0))
		move_bytes(c, &s, OTHER_IOVA);
}

static void check_zero_based(struct conform *c)
{
	struct setup s;

	if (set_up_with(c, &s, CONSUMER_ACCESS | IB_ZERO_BASED))
		move_bytes(c, &s, 0);
}

static void check_atomics(struct conform *c)
{
	struct conform_work w;
	struct setup s;
	u64 old;

	if (!set_up_with(c, &s, CONSUMER_ACCESS))
		return;
	memcpy(&old, s.pair->far.mem + 8, sizeof(old));
	conform_work(&w, &s.pair->near, IB_WR_ATOMIC_FETCH_AND_ADD, sizeof(u64));
	w.atomic.remote_addr = s.mr->iova + 8;
	w.atomic.rkey = s.mr->rkey;
	w.atomic.compare_add = 5;
	EXPECT(c, conform_do(&s.pair->near, &w.send), 0);
	EXPECT(c, memcmp(s.pair->near.mem, &old, sizeof(old)), 0);
	old += 5;
	EXPECT(c, memcmp(s.pair->far.mem + 8, &old, sizeof(old)), 0);
}

/* A region of near is what its own requests read from and write to. */
static void check_local_use(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_mr *mr = pair ? conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES) : NULL;
	struct conform_work w;

	if (!mr || !EXPECT(c, conform_map(&pair->near, mr), 0) ||
	    !EXPECT(c, conform_reg(&pair->near, mr, IB_ACCESS_LOCAL_WRITE), 0))
		return;
	conform_post_recv(&pair->far, 64, 1);
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	w.sge[0].lkey = mr->lkey;
	EXPECT(c, conform_do(&pair->near, &w.send), 0);
	EXPECT(c, conform_wait(&pair->far, 1), 0);
	EXPECT(c, memcmp(pair->near.mem, pair->far.mem, 64), 0);
	EXPECT(c, conform_invalidate(&pair->near, mr->lkey), 0);
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	w.sge[0].lkey = mr->lkey;
	EXPECT(c, conform_do(&pair->near, &w.send), IB_WC_LOC_PROT_ERR);
}

/* Registration, use and invalidation are posted as one list. */
static void check_chain(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);
	struct ib_mr *mr = pair ? conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES) : NULL;
	struct ib_send_wr invalidate = { .opcode = IB_WR_LOCAL_INV,
					 .send_flags = IB_SEND_SIGNALED };
	struct ib_reg_wr reg = { .wr = { .opcode = IB_WR_REG_MR } };
	struct conform_work w;

	if (!mr || !EXPECT(c, conform_map(&pair->near, mr), 0))
		return;
	conform_post_recv(&pair->far, 64, 1);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg.mr = mr;
	reg.key = mr->rkey;
	reg.access = IB_ACCESS_LOCAL_WRITE;
	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	w.sge[0].lkey = mr->lkey;
	w.send.wr_cqe = &pair->near.done[2].cqe;
	invalidate.wr_cqe = &pair->near.done[3].cqe;
	invalidate.ex.invalidate_rkey = mr->rkey;
	reg.wr.next = &w.send;
	w.send.next = &invalidate;
	EXPECT(c, conform_post(&pair->near, &reg.wr, 0), 0);
	EXPECT(c, conform_wait(&pair->near, 2), 0);
	EXPECT(c, conform_wait(&pair->near, 3), 0);
	EXPECT(c, conform_wait(&pair->far, 1), 0);
	/* The registration is not signalled. */
	EXPECT(c, completion_done(&pair->near.done[0].completion), false);
	EXPECT(c, pair->near.done[3].wc.opcode, IB_WC_LOCAL_INV);
}

static void check_completion(struct conform *c)
{
	struct setup s;

	if (set_up_with(c, &s, CONSUMER_ACCESS))
		EXPECT(c, s.pair->far.done[0].wc.opcode, IB_WC_REG_MR);
}

static void check_uc(struct conform *c)
{
	struct conform_end *end = conform_single(c, IB_QPT_UC, IB_QPS_RTS);
	struct ib_mr *mr = end ? conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES) : NULL;

	if (!mr || !EXPECT(c, conform_map(end, mr), 0))
		return;
	EXPECT(c, conform_reg(end, mr, CONSUMER_ACCESS), 0);
	EXPECT(c, conform_invalidate(end, mr->rkey), 0);
}

static void check_ud(struct conform *c)
{
	struct conform_end *end = conform_single(c, IB_QPT_UD, IB_QPS_RTS);
	struct ib_mr *mr = end ? conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES) : NULL;

	if (mr && EXPECT(c, conform_map(end, mr), 0))
		EXPECT(c, conform_reg(end, mr, CONSUMER_ACCESS), IB_WC_LOC_QP_OP_ERR);
}

/* ---- refused ---- */

static enum ib_qp_state state_of(const struct conform_end *end)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(end->qp, &attr, IB_QP_STATE, &init) ? IB_QPS_RESET : attr.qp_state;
}

/* It ends far's QP. */
static void expect_refused(struct conform *c, const struct setup *s, u32 key, int access)
{
	EXPECT(c, conform_reg_key(&s->pair->far, s->mr, key, access), IB_WC_LOC_QP_OP_ERR);
	EXPECT(c, state_of(&s->pair->far), IB_QPS_ERR);
}

static void refuse_access(struct conform *c, int access)
{
	struct setup s;

	if (set_up(c, &s))
		expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), access);
}

static void refuse_twice(struct conform *c)
{
	struct setup s;

	if (set_up_with(c, &s, CONSUMER_ACCESS) && EXPECT(c, conform_map(&s.pair->far, s.mr), 0))
		expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), CONSUMER_ACCESS);
}

static void refuse_other_key(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s))
		expect_refused(c, &s, s.mr->rkey ^ 0x100, CONSUMER_ACCESS);
}

static void refuse_other_pd(struct conform *c)
{
	struct ib_pd *pd = conform_pd(c, 0);
	struct setup s;

	if (pd && set_up_in(c, &s, pd, IB_MR_TYPE_MEM_REG))
		expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), CONSUMER_ACCESS);
}

static void refuse_unmapped(struct conform *c)
{
	struct setup s;

	s.pair = conform_pair(c, NULL);
	s.mr = s.pair ? conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, CONFORM_PAGES) : NULL;
	if (s.mr)
		expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), CONSUMER_ACCESS);
}

static void refuse_on_demand(struct conform *c)
{
	refuse_access(c, CONSUMER_ACCESS | IB_ACCESS_ON_DEMAND);
}

static void refuse_unknown_access(struct conform *c)
{
	refuse_access(c, CONSUMER_ACCESS | 1 << 18);
}

static void refuse_remote_write(struct conform *c)
{
	refuse_access(c, IB_ACCESS_REMOTE_WRITE);
}

static void refuse_remote_atomic(struct conform *c)
{
	refuse_access(c, IB_ACCESS_REMOTE_ATOMIC);
}

static void refuse_wrap(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s))
		return;
	s.mr->iova = -(u64)PAGE_SIZE;
	expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), CONSUMER_ACCESS);
}

static void refuse_shifted(struct conform *c)
{
	struct setup s;

	if (!set_up(c, &s))
		return;
	s.mr->iova += PAGE_SIZE - 1;
	expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), CONSUMER_ACCESS);
}

static void refuse_longer(struct conform *c, enum ib_mr_type type)
{
	struct setup s;

	if (!set_up_in(c, &s, c->pd, type))
		return;
	s.mr->length++;
	expect_refused(c, &s, ib_inc_rkey(s.mr->rkey), CONSUMER_ACCESS);
}

static void refuse_longer_pages(struct conform *c)
{
	refuse_longer(c, IB_MR_TYPE_MEM_REG);
}

static void refuse_longer_pieces(struct conform *c)
{
	refuse_longer(c, IB_MR_TYPE_SG_GAPS);
}

/* ---- what it does not open ---- */

static void use_fails(struct conform *c, int access, enum ib_wr_opcode opcode, s64 from, u32 bytes)
{
	struct setup s;

	if (set_up_with(c, &s, access))
		EXPECT(c, use(&s, opcode, s.mr->iova + from, bytes), IB_WC_REM_ACCESS_ERR);
}

static void use_read_only(struct conform *c)
{
	use_fails(c, IB_ACCESS_REMOTE_READ, IB_WR_RDMA_WRITE, 0, 64);
}

static void use_write_only(struct conform *c)
{
	use_fails(c, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, IB_WR_RDMA_READ, 0, 64);
}

static void use_before(struct conform *c)
{
	use_fails(c, CONSUMER_ACCESS, IB_WR_RDMA_READ, -1, 64);
}

static void use_beyond(struct conform *c)
{
	use_fails(c, CONSUMER_ACCESS, IB_WR_RDMA_WRITE, CONFORM_BYTES - 63, 64);
}

static void use_unregistered(struct conform *c)
{
	struct setup s;

	if (set_up(c, &s))
		EXPECT(c, use(&s, IB_WR_RDMA_READ, s.mr->iova, 64), IB_WC_REM_ACCESS_ERR);
}

static void use_invalidated(struct conform *c)
{
	struct setup s;

	if (!set_up_with(c, &s, CONSUMER_ACCESS))
		return;
	EXPECT(c, conform_invalidate(&s.pair->far, s.mr->rkey), 0);
	EXPECT(c, use(&s, IB_WR_RDMA_READ, s.mr->iova, 64), IB_WC_REM_ACCESS_ERR);
}

static void use_former_key(struct conform *c)
{
	struct setup s;
	u32 former;

	if (!set_up_with(c, &s, CONSUMER_ACCESS))
		return;
	former = s.mr->rkey;
	EXPECT(c, conform_invalidate(&s.pair->far, former), 0);
	EXPECT(c, conform_map(&s.pair->far, s.mr), 0);
	EXPECT(c, conform_reg(&s.pair->far, s.mr, CONSUMER_ACCESS), 0);
	EXPECT(c, use(&s, IB_WR_RDMA_READ, s.mr->iova, 64), 0);
	EXPECT(c, conform_access(&s.pair->near, IB_WR_RDMA_READ, s.mr->iova, former, 64),
	       IB_WC_REM_ACCESS_ERR);
}

const struct conform_case conform_reg_cases[] = {
	{ "data", check_data },
	{ "data_of_a_list_with_gaps", check_gaps },
	{ "data_with_pages_of_two", check_large_pages },
	{ "data_at_another_address", check_other_iova },
	{ "data_zero_based", check_zero_based },
	{ "atomics", check_atomics },
	{ "local_key", check_local_use },
	{ "in_a_list_with_use_and_invalidation", check_chain },
	{ "completion_names_it", check_completion },
	{ "on_UC", check_uc, CONFORM_ROCE },
	{ "on_UD_is_LOC_QP_OP_ERR", check_ud, CONFORM_ROCE },
	{ "twice_is_LOC_QP_OP_ERR", refuse_twice },
	{ "key_of_another_index_is_LOC_QP_OP_ERR", refuse_other_key },
	{ "of_another_pd_is_LOC_QP_OP_ERR", refuse_other_pd },
	{ "without_a_list_is_LOC_QP_OP_ERR", refuse_unmapped },
	{ "on_demand_is_LOC_QP_OP_ERR", refuse_on_demand },
	{ "unknown_access_is_LOC_QP_OP_ERR", refuse_unknown_access },
	{ "REMOTE_WRITE_without_LOCAL_WRITE_is_LOC_QP_OP_ERR", refuse_remote_write },
	{ "REMOTE_ATOMIC_without_LOCAL_WRITE_is_LOC_QP_OP_ERR", refuse_remote_atomic },
	{ "addresses_that_wrap_are_LOC_QP_OP_ERR", refuse_wrap },
	{ "shifted_beyond_its_pages_is_LOC_QP_OP_ERR", refuse_shifted },
	{ "longer_than_its_pages_is_LOC_QP_OP_ERR", refuse_longer_pages },
	{ "longer_than_its_pieces_is_LOC_QP_OP_ERR", refuse_longer_pieces },
	{ "write_without_REMOTE_WRITE_is_REM_ACCESS_ERR", use_read_only },
	{ "read_without_REMOTE_READ_is_REM_ACCESS_ERR", use_write_only },
	{ "read_before_it_is_REM_ACCESS_ERR", use_before },
	{ "write_beyond_it_is_REM_ACCESS_ERR", use_beyond },
	{ "read_before_registration_is_REM_ACCESS_ERR", use_unregistered },
	{ "read_after_invalidation_is_REM_ACCESS_ERR", use_invalidated },
	{ "former_key_is_REM_ACCESS_ERR", use_former_key },
	{}
};
