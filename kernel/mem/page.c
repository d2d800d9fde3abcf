// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that packets and FPDUs are written to. A socket keeps one until the peer
 * has acknowledged what is in it, a driver until it is sent; then it can be written
 * to again, which costs less than a new one: many kernels clear each page that they
 * give out.
 *
 * Each CPU keeps pages that have been filled, the last one on top. Those there are
 * the least likely to be free, and if they are, the most likely to be in the CPU's
 * cache: a few are looked at, then the oldest. If that is not free either there is a
 * new one, and beyond TERN_PAGES_KEPT the oldest is left to who else has it. The
 * last QP's end empties all.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "mem/page.h"

#define LOOK_AT		8

struct stack {
	spinlock_t lock;	/* against empty() only */
	u32 n;
	struct page *page[TERN_PAGES_KEPT];
	struct page *current_page;	/* of which pieces are given out; NULL: none */
	u32 fill;			/* bytes of it that are */
};

static DEFINE_PER_CPU(struct stack, stacks);
static atomic_t users = ATOMIC_INIT(0);

static struct page *take(struct stack *stack, u32 i)
{
	struct page *page = stack->page[i];

	stack->n--;
	memmove(&stack->page[i], &stack->page[i + 1], (stack->n - i) * sizeof(page));
	return page;
}

static bool is_free(const struct stack *stack, u32 i)
{
	return page_count(stack->page[i]) == 1;
}

static struct page *get_locked(struct stack *stack)
{
	u32 i;

	for (i = stack->n; i > 0 && stack->n - i < LOOK_AT; i--)
		if (is_free(stack, i - 1))
			return take(stack, i - 1);
	if (stack->n && is_free(stack, 0))
		return take(stack, 0);
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN, TERN_PAGE_ORDER);
}

struct page *tern_page_get(void)
{
	struct stack *stack = this_cpu_ptr(&stacks);
	struct page *page;

	spin_lock(&stack->lock);
	page = get_locked(stack);
	spin_unlock(&stack->lock);
	return page;
}

static void put_locked(struct stack *stack, struct page *page)
{
	/* From the reserves for who frees memory: not to be kept. */
	if (page_is_pfmemalloc(page)) {
		put_page(page);
		return;
	}
	if (stack->n == TERN_PAGES_KEPT)
		put_page(take(stack, 0));
	stack->page[stack->n++] = page;
}

void tern_page_put(struct page *page)
{
	struct stack *stack = this_cpu_ptr(&stacks);

	spin_lock(&stack->lock);
	put_locked(stack, page);
	spin_unlock(&stack->lock);
}

/* Where the current page is filled to. */
static void *filled_to(const struct stack *stack)
{
	return page_address(stack->current_page) + stack->fill;
}

/* With a reference to its page. */
static __always_inline void *piece_locked(struct stack *stack, u32 bytes)
{
	void *piece;

	stack->fill = ALIGN(stack->fill, SMP_CACHE_BYTES);
	if (!stack->current_page || stack->fill + bytes > TERN_PAGE_BYTES) {
		if (stack->current_page)
			put_locked(stack, stack->current_page);
		stack->current_page = get_locked(stack);
		stack->fill = 0;
	}
	if (!stack->current_page)
		return NULL;
	piece = filled_to(stack);
	stack->fill += bytes;
	get_page(stack->current_page);
	return piece;
}

void *tern_page_piece(u32 bytes)
{
	struct stack *stack = this_cpu_ptr(&stacks);
	void *piece;

	spin_lock(&stack->lock);
	piece = piece_locked(stack, bytes);
	spin_unlock(&stack->lock);
	return piece;
}

void *tern_page_more(const void *behind, u32 bytes)
{
	struct stack *stack = this_cpu_ptr(&stacks);
	void *more;

	spin_lock(&stack->lock);
	if (stack->current_page && filled_to(stack) == behind &&
	    stack->fill + bytes <= TERN_PAGE_BYTES) {
		more = filled_to(stack);
		stack->fill += bytes;
	} else {
		more = piece_locked(stack, bytes);
	}
	spin_unlock(&stack->lock);
	return more;
}

void tern_pages_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(&stacks, cpu)->lock);
}

void tern_pages_use(void)
{
	atomic_inc(&users);
}

static void empty(struct stack *stack)
{
	spin_lock_bh(&stack->lock);
	while (stack->n)
		put_page(take(stack, stack->n - 1));
	if (stack->current_page)
		put_page(stack->current_page);
	stack->current_page = NULL;
	spin_unlock_bh(&stack->lock);
}

void tern_pages_unuse(void)
{
	int cpu;

	if (!atomic_dec_and_test(&users))
		return;
	for_each_possible_cpu(cpu)
		empty(per_cpu_ptr(&stacks, cpu));
}

void tern_pages_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WARN_ON(per_cpu_ptr(&stacks, cpu)->n || per_cpu_ptr(&stacks, cpu)->current_page);
}
