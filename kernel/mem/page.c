// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that packets and FPDUs are written to. A socket keeps one until the
 * peer has acknowledged its content, a driver until it is sent. Then it can be
 * written to again. That costs less than a new page: many kernels clear each
 * page that they hand out.
 *
 * Each CPU keeps filled pages in a ring, in the order of filling. The last few
 * are the least likely to be free, and if free, the most likely to be in the
 * CPU's cache, so they are tried first. Then the oldest free ones move to a
 * pile, and the last of the pile is taken. So however many pages are kept, no
 * more are used than are in flight. If the pile is empty, a new page is
 * allocated. Beyond TERN_PAGES_KEPT the oldest page is dropped and stays with
 * its other users.
 *
 * The last QP's end empties all. When memory is short, a shrinker gives back
 * all free pages except the last few: the kernel runs out of large pages first,
 * and sending may be what frees memory. If there are no large pages, small ones
 * are used and not kept.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/shrinker.h>
#include <linux/spinlock.h>

#include "mem/page.h"

#define LOOK_AT		8
#define PAGES_LEFT	4	/* to a CPU by the shrinker: enough for some batches */
#define SHRINKER_NAME	"tern-pages"

static_assert((TERN_PAGES_KEPT & (TERN_PAGES_KEPT - 1)) == 0);

struct stack {
	spinlock_t lock;	/* against other CPUs: empty_stack(), the shrinker */
	u32 oldest;		/* free-running index of a page in the ring */
	u32 n;
	struct page *page[TERN_PAGES_KEPT];
	u32 n_free;
	struct page *pile[TERN_PAGES_KEPT];	/* pages without other users */
	struct page *current_page;	/* pieces are cut from it; NULL: none */
	u32 size;			/* of that page */
	u32 fill;			/* bytes of it in use */
};

static struct stack __percpu *stacks;	/* too large for a module's static per-CPU memory */
static atomic_t users = ATOMIC_INIT(0);
static struct shrinker *shrinker;

/* The i-th page; the oldest is 0. */
static struct page **page_at(struct stack *stack, u32 i)
{
	return &stack->page[(stack->oldest + i) % TERN_PAGES_KEPT];
}

static struct page *take_oldest(struct stack *stack)
{
	struct page *page = *page_at(stack, 0);

	stack->oldest++;
	stack->n--;
	return page;
}

/* i is one of the last few. */
static struct page *take_at(struct stack *stack, u32 i)
{
	struct page *page = *page_at(stack, i);

	stack->n--;
	for (; i < stack->n; i++)
		*page_at(stack, i) = *page_at(stack, i + 1);
	return page;
}

static bool is_free(const struct page *page)
{
	return page_count(page) == 1;
}

/*
 * At least `bytes`. Only a small page may come from the reserves, which are for allocations that
 * must not fail.
 */
static struct page *new_page(u32 bytes)
{
	struct page *page = alloc_pages(GFP_NOWAIT | __GFP_COMP | __GFP_NOWARN, TERN_PAGE_ORDER);

	return page ?: alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN, get_order(bytes));
}

static struct page *get_locked(struct stack *stack, u32 bytes)
{
	u32 i;

	for (i = stack->n; i > 0 && stack->n - i < LOOK_AT; i--)
		if (is_free(*page_at(stack, i - 1)))
			return take_at(stack, i - 1);
	for (i = 0; i < LOOK_AT && stack->n && is_free(*page_at(stack, 0)); i++)
		stack->pile[stack->n_free++] = take_oldest(stack);
	if (stack->n_free)
		return stack->pile[--stack->n_free];
	return new_page(bytes);
}

struct page *tern_page_get(void)
{
	struct stack *stack = this_cpu_ptr(stacks);
	struct page *page;

	spin_lock(&stack->lock);
	page = get_locked(stack, PAGE_SIZE);
	spin_unlock(&stack->lock);
	return page;
}

static void put_locked(struct stack *stack, struct page *page)
{
	/* Not kept: a page of the reserves, which are for freeing memory, or a small one. */
	if (page_is_pfmemalloc(page) || page_size(page) < TERN_PAGE_BYTES) {
		put_page(page);
		return;
	}
	if (stack->n + stack->n_free == TERN_PAGES_KEPT)
		put_page(stack->n_free ? stack->pile[--stack->n_free] : take_oldest(stack));
	*page_at(stack, stack->n++) = page;
}

void tern_page_put(struct page *page)
{
	struct stack *stack = this_cpu_ptr(stacks);

	spin_lock(&stack->lock);
	put_locked(stack, page);
	spin_unlock(&stack->lock);
}

/* The first unused byte of the current page. */
static void *filled_to(const struct stack *stack)
{
	return page_address(stack->current_page) + stack->fill;
}

/* With a reference to its page. */
static __always_inline void *piece_locked(struct stack *stack, u32 bytes)
{
	void *piece;

	stack->fill = ALIGN(stack->fill, SMP_CACHE_BYTES);
	if (!stack->current_page || stack->fill + bytes > stack->size) {
		if (stack->current_page)
			put_locked(stack, stack->current_page);
		stack->current_page = get_locked(stack, bytes);
		if (!stack->current_page)
			return NULL;
		stack->size = page_size(stack->current_page);
		stack->fill = 0;
	}
	piece = filled_to(stack);
	stack->fill += bytes;
	get_page(stack->current_page);
	return piece;
}

void *tern_page_piece(u32 bytes)
{
	struct stack *stack = this_cpu_ptr(stacks);
	void *piece;

	spin_lock(&stack->lock);
	piece = piece_locked(stack, bytes);
	spin_unlock(&stack->lock);
	return piece;
}

void *tern_page_more(const void *behind, u32 bytes)
{
	struct stack *stack = this_cpu_ptr(stacks);
	void *more;

	spin_lock(&stack->lock);
	if (stack->current_page && filled_to(stack) == behind &&
	    stack->fill + bytes <= stack->size) {
		more = filled_to(stack);
		stack->fill += bytes;
	} else {
		more = piece_locked(stack, bytes);
		/*
		 * A new page directly behind `behind` would look like more of the old page, and not
		 * be put.
		 */
		if (unlikely(more && more == behind)) {
			put_page(stack->current_page);
			more = piece_locked(stack, bytes);
		}
	}
	spin_unlock(&stack->lock);
	return more;
}

/* ---- memory is short ---- */

/* Large pages of a CPU that it can give back. */
static u32 beyond_left(const struct stack *stack)
{
	u32 n = READ_ONCE(stack->n) + READ_ONCE(stack->n_free);

	return n > PAGES_LEFT ? n - PAGES_LEFT : 0;
}

/* In pages of PAGE_SIZE. */
static unsigned long count_kept(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += beyond_left(per_cpu_ptr(stacks, cpu));
	return n ? n << TERN_PAGE_ORDER : SHRINK_EMPTY;
}

/* Looks at each page of the stack once, the oldest first. Returns the number given back. */
static u32 give_back(struct stack *stack, u32 most)
{
	u32 looked_at, gone = 0;

	spin_lock_bh(&stack->lock);
	most = min(most, beyond_left(stack));
	for (; stack->n_free && gone < most; gone++)
		put_page(stack->pile[--stack->n_free]);
	for (looked_at = stack->n; looked_at && gone < most; looked_at--) {
		struct page *page = take_oldest(stack);

		if (is_free(page)) {
			put_page(page);
			gone++;
		} else {
			*page_at(stack, stack->n++) = page;
		}
	}
	spin_unlock_bh(&stack->lock);
	return gone;
}

static unsigned long give_back_some(struct shrinker *s, struct shrink_control *sc)
{
	u32 most = DIV_ROUND_UP(sc->nr_to_scan, 1UL << TERN_PAGE_ORDER);
	u32 gone = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		gone += give_back(per_cpu_ptr(stacks, cpu), most - gone);
	return gone ? (unsigned long)gone << TERN_PAGE_ORDER : SHRINK_STOP;
}

/* ---- from load to unload ---- */

static int add_shrinker(void)
{
	shrinker = tern_shrinker_alloc(SHRINKER_NAME);
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_kept;
	shrinker->scan_objects = give_back_some;
	shrinker->seeks = DEFAULT_SEEKS;
	return tern_shrinker_register(shrinker, SHRINKER_NAME);
}

int tern_pages_init(void)
{
	int cpu, err;

	stacks = alloc_percpu(struct stack);
	if (!stacks)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(stacks, cpu)->lock);
	err = add_shrinker();
	if (err)
		free_percpu(stacks);
	return err;
}

void tern_pages_use(void)
{
	atomic_inc(&users);
}

static void empty_stack(struct stack *stack)
{
	spin_lock_bh(&stack->lock);
	while (stack->n)
		put_page(take_oldest(stack));
	while (stack->n_free)
		put_page(stack->pile[--stack->n_free]);
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
		empty_stack(per_cpu_ptr(stacks, cpu));
}

void tern_pages_exit(void)
{
	int cpu;

	shrinker_free(shrinker);
	for_each_possible_cpu(cpu)
		WARN_ON(per_cpu_ptr(stacks, cpu)->n || per_cpu_ptr(stacks, cpu)->n_free ||
			per_cpu_ptr(stacks, cpu)->current_page);
	free_percpu(stacks);
}
