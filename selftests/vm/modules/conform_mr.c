// SPDX-License-Identifier: GPL-2.0
/* Regions for fast registration: which there are, and what ib_map_mr_sg() makes of a list. */
#include <linux/err.h>
#include <linux/slab.h>

#include "conform.h"

static u32 most_pages(const struct conform *c)
{
	return c->dev->attrs.max_fast_reg_page_list_len;
}

static void expect_no_region(struct conform *c, enum ib_mr_type type, u32 pages, int error)
{
	struct ib_mr *mr = ib_alloc_mr(c->pd, type, pages);

	EXPECT(c, REFUSAL(mr), error);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
}

static void alloc_the_limit(struct conform *c)
{
	EXPECT(c, most_pages(c) > 0, true);
	conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, most_pages(c));
	conform_mr(c, c->pd, IB_MR_TYPE_SG_GAPS, most_pages(c));
}

static void alloc_one_more(struct conform *c)
{
	expect_no_region(c, IB_MR_TYPE_MEM_REG, most_pages(c) + 1, -EINVAL);
	expect_no_region(c, IB_MR_TYPE_SG_GAPS, most_pages(c) + 1, -EINVAL);
}

static void alloc_no_page(struct conform *c)
{
	expect_no_region(c, IB_MR_TYPE_MEM_REG, 0, -EINVAL);
	expect_no_region(c, IB_MR_TYPE_SG_GAPS, 0, -EINVAL);
}

static void alloc_other_kinds(struct conform *c)
{
	expect_no_region(c, IB_MR_TYPE_DM, 1, -EOPNOTSUPP);
	expect_no_region(c, IB_MR_TYPE_USER, 1, -EOPNOTSUPP);
	expect_no_region(c, IB_MR_TYPE_DMA, 1, -EOPNOTSUPP);
}

static void alloc_integrity(struct conform *c)
{
	struct ib_mr *mr = ib_alloc_mr_integrity(c->pd, 1, 1);

	EXPECT(c, c->dev->attrs.kernel_cap_flags & IBK_INTEGRITY_HANDOVER, 0);
	EXPECT(c, REFUSAL(mr), -EOPNOTSUPP);
}

static void check_capabilities(struct conform *c)
{
	EXPECT(c, !(c->dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS), false);
	EXPECT(c, !(c->dev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG), false);
}

static void check_keys(struct conform *c)
{
	struct ib_mr *one = conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, 1);
	struct ib_mr *two = conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, 1);

	if (!one || !two)
		return;
	EXPECT(c, one->lkey, one->rkey);
	EXPECT(c, one->lkey >> 8 == two->lkey >> 8, false);
}

static void use_global_key(struct conform *c)
{
	struct ib_pd *pd = conform_pd(c, IB_PD_UNSAFE_GLOBAL_RKEY);
	struct conform_pair *pair = conform_pair(c, NULL);

	if (!pd || !pair)
		return;
	/* Of another PD than the QP's. */
	EXPECT(c, conform_access(&pair->near, IB_WR_RDMA_READ, pair->far.dma,
				 pd->unsafe_global_rkey, 64), IB_WC_REM_ACCESS_ERR);
}

/* ---- lists ---- */

struct list {
	struct ib_mr *mr;
	u8 *mem;
	struct scatterlist sg[CONFORM_PAGES];
};

static void free_list(void *mem)
{
	kfree(mem);
}

/* Whole pages, which a case may change. */
static bool make_list(struct conform *c, struct list *list, u32 pages)
{
	u32 i;

	list->mem = kmalloc(CONFORM_BYTES, GFP_KERNEL);
	if (!EXPECT(c, !list->mem, false))
		return false;
	conform_defer(c, free_list, list->mem);
	sg_init_table(list->sg, CONFORM_PAGES);
	for (i = 0; i < CONFORM_PAGES; i++)
		sg_set_buf(&list->sg[i], list->mem + i * PAGE_SIZE, PAGE_SIZE);
	list->mr = conform_mr(c, c->pd, IB_MR_TYPE_MEM_REG, pages);
	return list->mr;
}

static int map_list(struct conform *c, struct list *list, int n, unsigned int *offset,
		    unsigned int page_bytes)
{
	ib_dma_map_sg(c->dev, list->sg, CONFORM_PAGES, DMA_BIDIRECTIONAL);
	return ib_map_mr_sg(list->mr, list->sg, n, offset, page_bytes);
}

static void map_whole(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	EXPECT(c, map_list(c, &list, CONFORM_PAGES, NULL, PAGE_SIZE), CONFORM_PAGES);
	EXPECT(c, list.mr->length, CONFORM_BYTES);
	EXPECT(c, list.mr->iova, (uintptr_t)list.mem);
	EXPECT(c, list.mr->page_size, PAGE_SIZE);
}

static void map_large_pages(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES / 2))
		return;
	EXPECT(c, map_list(c, &list, CONFORM_PAGES, NULL, 2 * PAGE_SIZE), CONFORM_PAGES);
	EXPECT(c, list.mr->length, CONFORM_BYTES);
}

static void map_too_long(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES - 1))
		return;
	EXPECT(c, map_list(c, &list, CONFORM_PAGES, NULL, PAGE_SIZE), CONFORM_PAGES - 1);
	EXPECT(c, list.mr->length, CONFORM_BYTES - PAGE_SIZE);
}

static void map_gap(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	sg_set_buf(&list.sg[2], list.mem + 2 * PAGE_SIZE + 100, 200);
	EXPECT(c, map_list(c, &list, CONFORM_PAGES, NULL, PAGE_SIZE), 2);
	EXPECT(c, list.mr->length, 2 * PAGE_SIZE);
}

static void map_offset(struct conform *c)
{
	unsigned int offset = 100;
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	EXPECT(c, map_list(c, &list, CONFORM_PAGES, &offset, PAGE_SIZE), CONFORM_PAGES);
	EXPECT(c, list.mr->length, CONFORM_BYTES - 100);
	EXPECT(c, list.mr->iova, (uintptr_t)list.mem + 100);
}

static void map_offset_too_far(struct conform *c)
{
	unsigned int offset = PAGE_SIZE + 1;
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	EXPECT(c, map_list(c, &list, CONFORM_PAGES, &offset, PAGE_SIZE), -EINVAL);
}

static void map_nothing(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	EXPECT(c, map_list(c, &list, 0, NULL, PAGE_SIZE), -EINVAL);
}

static void map_odd_pages(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	EXPECT(c, map_list(c, &list, 1, NULL, 3 * PAGE_SIZE), -EINVAL);
	EXPECT(c, map_list(c, &list, 1, NULL, 0), -EINVAL);
}

static void map_integrity(struct conform *c)
{
	struct list list;

	if (!make_list(c, &list, CONFORM_PAGES))
		return;
	EXPECT(c, ib_map_mr_sg_pi(list.mr, list.sg, 1, NULL, NULL, 0, NULL, PAGE_SIZE),
	       -EOPNOTSUPP);
}

const struct conform_case conform_mr_cases[] = {
	{ "capabilities", check_capabilities },
	{ "of_the_limit", alloc_the_limit },
	{ "of_one_page_more_than_the_limit_is_refused", alloc_one_more },
	{ "of_no_page_is_refused", alloc_no_page },
	{ "of_integrity_is_refused", alloc_integrity },
	{ "of_other_kinds_is_refused", alloc_other_kinds },
	{ "keys_differ", check_keys },
	{ "global_key_of_another_pd_is_refused", use_global_key },
	{ "map_of_a_list", map_whole },
	{ "map_with_pages_of_two", map_large_pages },
	{ "map_of_a_list_too_long_stops", map_too_long },
	{ "map_of_a_list_with_a_gap_stops", map_gap },
	{ "map_with_an_offset", map_offset },
	{ "map_with_an_offset_behind_the_first_entry_is_refused", map_offset_too_far },
	{ "map_of_no_entry_is_refused", map_nothing },
	{ "map_with_odd_pages_is_refused", map_odd_pages },
	{ "map_for_integrity_is_refused", map_integrity },
	{}
};
