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

struct page_store {
	spinlock_t lock;	/* against other CPUs: empty_store(), the shrinker */
	u32 oldest;		/* free-running index of a page in the ring */
	u32 n;
	struct page *page[TERN_PAGES_KEPT];
	u32 n_free;
	struct page *pile[TERN_PAGES_KEPT];	/* pages without other users */
	struct page *current_page;	/* pieces are cut from it; NULL: none */
	u32 size;			/* of that page */
	u32 fill;			/* bytes of it in use */
};

static struct page_store __percpu *stores;	/* too large for a module's static per-CPU memory */
static atomic_t users = ATOMIC_INIT(0);
static struct shrinker *shrinker;

/* The i-th page; the oldest is 0. */
static struct page **page_at(struct page_store *store, u32 i)
{
	return &store->page[(store->oldest + i) % TERN_PAGES_KEPT];
}

static struct page *take_oldest(struct page_store *store)
{
	struct page *page = *page_at(store, 0);

	store->oldest++;
	store->n--;
	return page;
}

/* i is one of the last few. */
static struct page *take_at(struct page_store *store, u32 i)
{
	struct page *page = *page_at(store, i);

	store->n--;
	for (; i < store->n; i++)
		*page_at(store, i) = *page_at(store, i + 1);
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

static struct page *get_locked(struct page_store *store, u32 bytes)
{
	u32 i;

	for (i = store->n; i > 0 && store->n - i < LOOK_AT; i--)
		if (is_free(*page_at(store, i - 1)))
			return take_at(store, i - 1);
	for (i = 0; i < LOOK_AT && store->n && is_free(*page_at(store, 0)); i++)
		store->pile[store->n_free++] = take_oldest(store);
	if (store->n_free)
		return store->pile[--store->n_free];
	return new_page(bytes);
}

struct page *tern_page_get(void)
{
	struct page_store *store = this_cpu_ptr(stores);
	struct page *page;

	spin_lock(&store->lock);
	page = get_locked(store, PAGE_SIZE);
	spin_unlock(&store->lock);
	return page;
}

static void put_locked(struct page_store *store, struct page *page)
{
	/* Not kept: a page of the reserves, which are for freeing memory, or a small one. */
	if (page_is_pfmemalloc(page) || page_size(page) < TERN_PAGE_BYTES) {
		put_page(page);
		return;
	}
	if (store->n + store->n_free == TERN_PAGES_KEPT)
		put_page(store->n_free ? store->pile[--store->n_free] : take_oldest(store));
	*page_at(store, store->n++) = page;
}

void tern_page_put(struct page *page)
{
	struct page_store *store = this_cpu_ptr(stores);

	spin_lock(&store->lock);
	put_locked(store, page);
	spin_unlock(&store->lock);
}

/* The first unused byte of the current page. */
static void *filled_to(const struct page_store *store)
{
	return page_address(store->current_page) + store->fill;
}

/* With a reference to its page. */
static __always_inline void *piece_locked(struct page_store *store, u32 bytes)
{
	void *piece;

	store->fill = ALIGN(store->fill, SMP_CACHE_BYTES);
	if (!store->current_page || store->fill + bytes > store->size) {
		if (store->current_page)
			put_locked(store, store->current_page);
		store->current_page = get_locked(store, bytes);
		if (!store->current_page)
			return NULL;
		store->size = page_size(store->current_page);
		store->fill = 0;
	}
	piece = filled_to(store);
	store->fill += bytes;
	get_page(store->current_page);
	return piece;
}

void *tern_page_piece(u32 bytes)
{
	struct page_store *store = this_cpu_ptr(stores);
	void *piece;

	spin_lock(&store->lock);
	piece = piece_locked(store, bytes);
	spin_unlock(&store->lock);
	return piece;
}

void *tern_page_more(const void *behind, u32 bytes)
{
	struct page_store *store = this_cpu_ptr(stores);
	void *more;

	spin_lock(&store->lock);
	if (store->current_page && filled_to(store) == behind &&
	    store->fill + bytes <= store->size) {
		more = filled_to(store);
		store->fill += bytes;
	} else {
		more = piece_locked(store, bytes);
		/*
		 * A new page directly behind `behind` would look like more of the old page, and not
		 * be put.
		 */
		if (unlikely(more && more == behind)) {
			put_page(store->current_page);
			more = piece_locked(store, bytes);
		}
	}
	spin_unlock(&store->lock);
	return more;
}

/* ---- memory is short ---- */

/* Large pages of a CPU that it can give back. */
static u32 beyond_left(const struct page_store *store)
{
	u32 n = READ_ONCE(store->n) + READ_ONCE(store->n_free);

	return n > PAGES_LEFT ? n - PAGES_LEFT : 0;
}

/* In pages of PAGE_SIZE. */
static unsigned long count_kept(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += beyond_left(per_cpu_ptr(stores, cpu));
	return n ? n << TERN_PAGE_ORDER : SHRINK_EMPTY;
}

/* Looks at each page of the store once, the oldest first. Returns the number given back. */
static u32 give_back(struct page_store *store, u32 most)
{
	u32 looked_at, gone = 0;

	spin_lock_bh(&store->lock);
	most = min(most, beyond_left(store));
	for (; store->n_free && gone < most; gone++)
		put_page(store->pile[--store->n_free]);
	for (looked_at = store->n; looked_at && gone < most; looked_at--) {
		struct page *page = take_oldest(store);

		if (is_free(page)) {
			put_page(page);
			gone++;
		} else {
			*page_at(store, store->n++) = page;
		}
	}
	spin_unlock_bh(&store->lock);
	return gone;
}

static unsigned long give_back_some(struct shrinker *s, struct shrink_control *sc)
{
	u32 most = DIV_ROUND_UP(sc->nr_to_scan, 1UL << TERN_PAGE_ORDER);
	u32 gone = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		gone += give_back(per_cpu_ptr(stores, cpu), most - gone);
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

	stores = alloc_percpu(struct page_store);
	if (!stores)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(stores, cpu)->lock);
	err = add_shrinker();
	if (err)
		free_percpu(stores);
	return err;
}

void tern_pages_use(void)
{
	atomic_inc(&users);
}

static void empty_store(struct page_store *store)
{
	spin_lock_bh(&store->lock);
	while (store->n)
		put_page(take_oldest(store));
	while (store->n_free)
		put_page(store->pile[--store->n_free]);
	if (store->current_page)
		put_page(store->current_page);
	store->current_page = NULL;
	spin_unlock_bh(&store->lock);
}

void tern_pages_unuse(void)
{
	int cpu;

	if (!atomic_dec_and_test(&users))
		return;
	for_each_possible_cpu(cpu)
		empty_store(per_cpu_ptr(stores, cpu));
}

void tern_pages_exit(void)
{
	int cpu;

	shrinker_free(shrinker);
	for_each_possible_cpu(cpu)
		WARN_ON(per_cpu_ptr(stores, cpu)->n || per_cpu_ptr(stores, cpu)->n_free ||
			per_cpu_ptr(stores, cpu)->current_page);
	free_percpu(stores);
}
