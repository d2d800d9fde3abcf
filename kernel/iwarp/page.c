// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that FPDUs are written to. The socket keeps one until the peer has
 * acknowledged what is in it; then it can be written to again, which costs less
 * than a new one: many kernels clear each page that they give out.
 *
 * Each CPU has a ring of pages that have been filled. The oldest is the first
 * to be free; while it is not, new ones are added, and beyond IW_PAGES_KEPT the
 * oldest is left to the socket alone. The last QP's end empties all rings.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "iwarp/page.h"

struct ring {
	spinlock_t lock;	/* against empty() only */
	u32 first;		/* the oldest; grows, modulo IW_PAGES_KEPT */
	u32 n;
	struct page *page[IW_PAGES_KEPT];
};

static DEFINE_PER_CPU(struct ring, rings);
static atomic_t users = ATOMIC_INIT(0);

static struct page *take_first(struct ring *ring)
{
	struct page *page = ring->page[ring->first++ % IW_PAGES_KEPT];

	ring->n--;
	return page;
}

struct page *iw_page_get(void)
{
	struct ring *ring = this_cpu_ptr(&rings);
	struct page *page = NULL;

	spin_lock(&ring->lock);
	if (ring->n && page_count(ring->page[ring->first % IW_PAGES_KEPT]) == 1)
		page = take_first(ring);
	spin_unlock(&ring->lock);
	return page ?: alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN, IW_PAGE_ORDER);
}

void iw_page_put(struct page *page)
{
	struct ring *ring = this_cpu_ptr(&rings);
	struct page *oldest = NULL;

	/* From the reserves for who frees memory: not to be kept. */
	if (page_is_pfmemalloc(page)) {
		put_page(page);
		return;
	}
	spin_lock(&ring->lock);
	if (ring->n == IW_PAGES_KEPT)
		oldest = take_first(ring);
	ring->page[(ring->first + ring->n++) % IW_PAGES_KEPT] = page;
	spin_unlock(&ring->lock);
	if (oldest)
		put_page(oldest);
}

void iw_pages_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(&rings, cpu)->lock);
}

void iw_pages_use(void)
{
	atomic_inc(&users);
}

static void empty(struct ring *ring)
{
	spin_lock_bh(&ring->lock);
	while (ring->n)
		put_page(take_first(ring));
	spin_unlock_bh(&ring->lock);
}

void iw_pages_unuse(void)
{
	int cpu;

	if (!atomic_dec_and_test(&users))
		return;
	for_each_possible_cpu(cpu)
		empty(per_cpu_ptr(&rings, cpu));
}

void iw_pages_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WARN_ON(per_cpu_ptr(&rings, cpu)->n);
}
