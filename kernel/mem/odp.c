// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging (odp.h). The address space of a region is cut into chunks, each with
 * the addresses of its pages and an MMU notifier of its own. A chunk is made when a page
 * of it is first brought in, and goes a while after the last one was lost. So an implicit
 * region, which is all of an address space, takes memory only where it is used.
 */
#include <linux/hmm.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "charged.h"
#include "mem/bounds.h"
#include "mem/keys.h"
#include "mem/odp.h"
#include "mem/region.h"

#if TERN_ODP_BUILT

/* A chunk's table fills one page. */
#define CHUNK_PAGES	(PAGE_SIZE / sizeof(unsigned long))
#define CHUNK_BYTES	(CHUNK_PAGES * PAGE_SIZE)
#define CHUNK_SHIFT	(PAGE_SHIFT + PAGE_SHIFT - const_ilog2(sizeof(unsigned long)))
static_assert(1ul << CHUNK_SHIFT == CHUNK_BYTES);

/* In a table's entry, beside the kernel address of the page: it may be written. */
#define ENTRY_WRITABLE	1ul
#define ENTRY_PERSISTENT	2ul	/* of regions with FLUSH_PERSISTENT */

/*
 * From the first empty chunk to the sweep: pages that come and go, as with each fork(), need it
 * again. Not measured.
 */
#define SWEEP_AFTER	HZ

/* At pages that come and go, for one fault of a QP. Not measured. */
#define MAX_LOOKS	16

struct tern_odp {
	struct mm_struct *mm;
	bool persistent;		/* the region has FLUSH_PERSISTENT */
	struct workqueue_struct *wq;
	struct xarray chunks;		/* address >> CHUNK_SHIFT -> struct odp_chunk, RCU */
	atomic_t nchunks;
	struct list_head emptied;	/* chunks for the sweep to look at; under lock */
	struct delayed_work sweep;
	struct mutex fault_lock;	/* one fault at a time; chunks come and go */
	unsigned long *pfn;		/* CHUNK_PAGES of them; under fault_lock */
	struct task_struct *faulter;	/* the kernel thread that brings pages in; under lock */
	spinlock_t lock;		/* entries appear, invalidations begin */
	atomic_t spans;
	atomic_t invalidations;		/* under way */
};

struct odp_chunk {
	struct mmu_interval_notifier notifier;
	struct tern_odp *odp;
	unsigned long *entry;		/* of each page; 0: not present */
	u32 present;			/* of them; under odp->lock */
	struct list_head node;		/* in odp->emptied, or on its way out */
	struct rcu_head rcu;
};

/* ---- spans ---- */

/* Notes an access whose pages must be brought in. Returns its error. */
static int note_fault(const struct tern_mem_ctx *ctx, const struct tern_region *region, u64 addr,
		      u64 n, u64 more, bool write)
{
	struct tern_fault *fault = ctx->fault;

	switch (smp_load_acquire(&fault->state)) {
	case TERN_FAULT_WANTED:
	case TERN_FAULT_BUSY:
	case TERN_FAULT_FORGOTTEN:
		return -EAGAIN;
	case TERN_FAULT_FAILED:
		/* It was for these bytes, or the access was given up since. */
		if (fault->key == region->key && fault->addr - addr < n &&
		    (write || !fault->write)) {
			fault->state = TERN_FAULT_NONE;
			return -EFAULT;
		}
		break;
	default:
		break;
	}
	fault->key = region->key;
	fault->addr = addr;
	fault->length = n;
	fault->more = min_t(u64, more, TERN_ODP_AHEAD_BYTES);
	fault->write = write;
	fault->state = TERN_FAULT_WANTED;
	return -EAGAIN;
}

int tern_odp_enter(const struct tern_mem_ctx *ctx, struct tern_region *region, u64 addr,
		   bool write)
{
	struct tern_odp *odp = region->odp;

	atomic_inc(&odp->spans);
	/* Either we see the invalidation, or it sees us. */
	smp_mb__after_atomic();
	if (likely(!atomic_read_acquire(&odp->invalidations)))
		return 0;
	atomic_dec(&odp->spans);
	/* Nothing to bring in: the access comes again, and finds out what it lacks. */
	return note_fault(ctx, region, addr, 0, 0, write);
}

void tern_odp_leave(struct tern_odp *odp)
{
	/* What was copied is visible before the invalidation goes on. */
	smp_mb__before_atomic();
	atomic_dec(&odp->spans);
}

static unsigned long chunk_entry(const struct odp_chunk *chunk, u64 addr)
{
	return READ_ONCE(chunk->entry[(addr >> PAGE_SHIFT) % CHUNK_PAGES]);
}

static struct odp_chunk *chunk_lookup(const struct tern_odp *odp, u64 addr)
{
	return xa_load((struct xarray *)&odp->chunks, addr >> CHUNK_SHIFT);
}

void *tern_odp_address(const struct tern_odp *odp, u64 addr)
{
	const struct odp_chunk *chunk = chunk_lookup(odp, addr);
	unsigned long entry = chunk ? chunk_entry(chunk, addr) : 0;

	if (!entry)
		return NULL;
	return (void *)(entry & PAGE_MASK) + offset_in_page(addr);
}

int tern_odp_present(const struct tern_mem_ctx *ctx, const struct tern_region *region, u64 addr,
		     u64 n, u64 more, bool write)
{
	u64 page = addr & PAGE_MASK, last = (addr + n - 1) & PAGE_MASK;
	const struct odp_chunk *chunk = NULL;

	for (;; page += PAGE_SIZE) {
		unsigned long entry;

		if (!chunk || !(page & (CHUNK_BYTES - 1)))
			chunk = chunk_lookup(region->odp, page);
		entry = chunk ? chunk_entry(chunk, page) : 0;
		if (!entry || (write && !(entry & ENTRY_WRITABLE)))
			return note_fault(ctx, region, addr, n, more, write);
		if (page == last)
			return 0;
	}
}

bool tern_odp_is_persistent(const struct tern_odp *odp, u64 addr, u64 n)
{
	u64 page = addr & PAGE_MASK, last = (addr + n - 1) & PAGE_MASK;

	for (;; page += PAGE_SIZE) {
		const struct odp_chunk *chunk = chunk_lookup(odp, page);

		if (!chunk || !(chunk_entry(chunk, page) & ENTRY_PERSISTENT))
			return false;
		if (page == last)
			return true;
	}
}

/* ---- invalidation ---- */

static bool any_present(const struct odp_chunk *chunk, u32 first, u32 last)
{
	for (; first <= last; first++)
		if (chunk->entry[first])
			return true;
	return false;
}

static void drop_entries(struct odp_chunk *chunk, u32 first, u32 last)
{
	for (; first <= last; first++) {
		unsigned long entry = chunk->entry[first];

		if (entry & ENTRY_WRITABLE)
			set_page_dirty(compound_head(virt_to_page(entry & PAGE_MASK)));
		WRITE_ONCE(chunk->entry[first], 0);
		chunk->present -= !!entry;
	}
}

/* odp->lock held. */
static void sweep_if_empty(struct tern_odp *odp, struct odp_chunk *chunk)
{
	if (chunk->present || !list_empty(&chunk->node))
		return;
	list_add_tail(&chunk->node, &odp->emptied);
	queue_delayed_work(odp->wq, &odp->sweep, SWEEP_AFTER);
}

/* The process loses pages of [range->start, range->end), or the right to write to them. */
static bool chunk_invalidate(struct mmu_interval_notifier *notifier,
			     const struct mmu_notifier_range *range, unsigned long seq)
{
	struct odp_chunk *chunk = container_of(notifier, struct odp_chunk, notifier);
	unsigned long start = max(range->start, notifier->interval_tree.start);
	unsigned long end = min(range->end - 1, notifier->interval_tree.last);
	u32 first = (start >> PAGE_SHIFT) % CHUNK_PAGES, last = (end >> PAGE_SHIFT) % CHUNK_PAGES;
	struct tern_odp *odp = chunk->odp;

	spin_lock(&odp->lock);
	/* From here on no entry appears. */
	mmu_interval_set_seq(notifier, seq);
	if (any_present(chunk, first, last)) {
		atomic_inc(&odp->invalidations);
		smp_mb__after_atomic();		/* pairs with tern_odp_enter() */
		tern_spans_waited_for();
		while (atomic_read(&odp->spans))
			cpu_relax();
		smp_mb();			/* pairs with tern_odp_leave() */
		drop_entries(chunk, first, last);
		smp_mb__before_atomic();
		atomic_dec(&odp->invalidations);
		sweep_if_empty(odp, chunk);
	}
	/* Until here: another invalidation of the same pages may end, and they may be freed. */
	spin_unlock(&odp->lock);
	return true;
}

static const struct mmu_interval_notifier_ops chunk_ops = {
	.invalidate = chunk_invalidate,
};

/* ---- chunks ---- */

static void chunk_free(struct odp_chunk *chunk)
{
	free_page((unsigned long)chunk->entry);
	kfree(chunk);
}

/* Not yet found by its address. ERR_PTR. */
static struct odp_chunk *chunk_alloc(struct tern_odp *odp, unsigned long addr)
{
	struct odp_chunk *chunk = kzalloc(sizeof(*chunk), TERN_GFP_CHARGED);
	int err = -ENOMEM;

	if (!chunk)
		return ERR_PTR(-ENOMEM);
	chunk->odp = odp;
	INIT_LIST_HEAD(&chunk->node);
	chunk->entry = (unsigned long *)__get_free_page(TERN_GFP_CHARGED | __GFP_ZERO);
	if (chunk->entry)
		err = mmu_interval_notifier_insert(&chunk->notifier, odp->mm,
						   addr & ~(CHUNK_BYTES - 1), CHUNK_BYTES,
						   &chunk_ops);
	if (err) {
		chunk_free(chunk);
		return ERR_PTR(err);
	}
	return chunk;
}

/* fault_lock held, and it was never found by its address. */
static void chunk_discard(struct tern_odp *odp, struct odp_chunk *chunk)
{
	mmu_interval_notifier_remove(&chunk->notifier);
	/* It may have been filled and emptied. */
	spin_lock(&odp->lock);
	list_del(&chunk->node);
	spin_unlock(&odp->lock);
	chunk_free(chunk);
}

static void chunk_free_later(struct rcu_head *rcu)
{
	chunk_free(container_of(rcu, struct odp_chunk, rcu));
}

/* No longer found by its address. Those that found it before are in RCU sections. */
static void chunk_destroy(struct odp_chunk *chunk)
{
	mmu_interval_notifier_remove(&chunk->notifier);
	call_rcu(&chunk->rcu, chunk_free_later);
}

static void chunks_destroy(struct list_head *chunks)
{
	struct odp_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, chunks, node)
		chunk_destroy(chunk);
}

/* fault_lock held. It is found no more, and joins those on their way out. */
static void chunk_take(struct tern_odp *odp, struct odp_chunk *chunk, struct list_head *gone)
{
	spin_lock(&odp->lock);
	list_move(&chunk->node, gone);
	spin_unlock(&odp->lock);
	xa_erase(&odp->chunks, chunk->notifier.interval_tree.start >> CHUNK_SHIFT);
	atomic_dec(&odp->nchunks);
}

/* The next chunk that was emptied, if it still is; those before it are looked at no more. */
static struct odp_chunk *next_emptied(struct tern_odp *odp)
{
	struct odp_chunk *chunk, *found = NULL;

	do {
		spin_lock(&odp->lock);
		chunk = list_first_entry_or_null(&odp->emptied, struct odp_chunk, node);
		if (chunk)
			list_del_init(&chunk->node);
		if (chunk && !chunk->present)
			found = chunk;
		spin_unlock(&odp->lock);
	} while (chunk && !found);
	return found;
}

static void sweep_chunks(struct work_struct *work)
{
	struct tern_odp *odp = container_of(to_delayed_work(work), struct tern_odp, sweep);
	struct odp_chunk *chunk;
	LIST_HEAD(gone);

	mutex_lock(&odp->fault_lock);
	while ((chunk = next_emptied(odp)) != NULL) {
		chunk_take(odp, chunk, &gone);
		cond_resched();
	}
	mutex_unlock(&odp->fault_lock);
	chunks_destroy(&gone);
}

/* ---- faults ---- */

/* Has the kernel an address for it? Not for memory of devices, nor for that of memfd_secret(). */
static bool is_reachable(struct page *page)
{
	u8 probe;

	return !is_device_private_page(page) && page_address(page) &&
	       !copy_from_kernel_nofault(&probe, page_address(page), sizeof(probe));
}

/*
 * Is the page at addr persistent memory? Or a hole of a file in such memory, which reads as zeros:
 * nothing was written there, and so there is nothing to write back. mmap lock held.
 */
static bool is_persistent(struct mm_struct *mm, unsigned long addr, struct page *page)
{
	const struct vm_area_struct *vma;

	if (is_zone_device_page(page))
		return tern_memory_is_persistent(page_to_phys(page), PAGE_SIZE);
	vma = vma_lookup(mm, addr);
	return vma && vma->vm_flags & VM_SHARED && vma_is_dax(vma);
}

/*
 * Takes over what hmm_range_fault() found. False: it is outdated; *err is 0 then. mmap lock held.
 */
static bool chunk_fill(struct odp_chunk *chunk, const struct hmm_range *range, int *err)
{
	struct tern_odp *odp = chunk->odp;
	unsigned long addr = range->start;
	const unsigned long *pfn = range->hmm_pfns;
	bool current_still;

	*err = 0;
	spin_lock(&odp->lock);
	current_still = !mmu_interval_read_retry(&chunk->notifier, range->notifier_seq);
	for (; current_still && addr < range->end; addr += PAGE_SIZE, pfn++) {
		unsigned long entry, *place;

		if (!(*pfn & HMM_PFN_VALID))
			continue;
		if (!is_reachable(hmm_pfn_to_page(*pfn))) {
			*err = -EFAULT;
			continue;
		}
		entry = (unsigned long)page_address(hmm_pfn_to_page(*pfn));
		if (*pfn & HMM_PFN_WRITE)
			entry |= ENTRY_WRITABLE;
		if (odp->persistent && is_persistent(odp->mm, addr, hmm_pfn_to_page(*pfn)))
			entry |= ENTRY_PERSISTENT;
		place = &chunk->entry[(addr >> PAGE_SHIFT) % CHUNK_PAGES];
		chunk->present += !*place;
		WRITE_ONCE(*place, entry);
	}
	spin_unlock(&odp->lock);
	return current_still;
}

/* What a page must be found to be. */
enum wanted {
	WANT_NOTHING,		/* it may be absent */
	WANT_PAGE = HMM_PFN_VALID,
	WANT_WRITABLE = HMM_PFN_VALID | HMM_PFN_WRITE,
};

/*
 * fixup_user_fault() says -EFAULT of memory that is not there, and of memory that cannot be
 * written.
 */
static int fault_in_absent(struct mm_struct *mm, unsigned long addr, enum wanted wanted)
{
	bool write = wanted == WANT_WRITABLE, unlocked = false;
	const struct vm_area_struct *vma;
	int err;

	err = fixup_user_fault(mm, addr, FAULT_FLAG_REMOTE | (write ? FAULT_FLAG_WRITE : 0),
			       &unlocked);
	if (err != -EFAULT || !write)
		return err;
	vma = vma_lookup(mm, addr);
	return vma && !(vma->vm_flags & VM_WRITE) ? -EPERM : -EFAULT;
}

/*
 * The look says "error" of what has no struct page, and, in newer kernels, of a large page in a
 * device's own memory, which a fault takes back to the host's. hmm_range_fault() tells them apart
 * when it is asked for a fault. The mmap lock, which is held since the look, is held while the
 * device copies.
 */
static int fault_in_error(const struct hmm_range *looked, unsigned long addr, enum wanted wanted)
{
	unsigned long pfn = 0;
	struct hmm_range range = {
		.notifier = looked->notifier,
		.notifier_seq = looked->notifier_seq,
		.start = addr,
		.end = addr + PAGE_SIZE,
		.hmm_pfns = &pfn,
		.default_flags = HMM_PFN_REQ_FAULT |
				 (wanted == WANT_WRITABLE ? HMM_PFN_REQ_WRITE : 0),
	};
	int err = hmm_range_fault(&range);

	/* It was taken back. */
	return err == -EBUSY ? 0 : err;
}

/*
 * Has each page of range, which was looked at, brought in if it is not as wanted. The mmap lock is
 * held for reading, but not while a page is waited for. 0: all were there; 1: look again; or an
 * error.
 */
static int fault_in(const struct tern_odp *odp, const struct hmm_range *range, enum wanted wanted)
{
	const unsigned long *pfn = range->hmm_pfns;
	unsigned long addr;
	int ret = 0;

	for (addr = range->start; addr < range->end; addr += PAGE_SIZE, pfn++) {
		int err;

		if ((*pfn & wanted) == wanted)
			continue;
		if (*pfn & HMM_PFN_ERROR) {
			/* After other pages were waited for, it is looked at again. */
			err = ret ? 0 : fault_in_error(range, addr, wanted);
			return err ?: 1;
		}
		err = fault_in_absent(odp->mm, addr, wanted);
		if (err)
			return err;
		ret = 1;
		cond_resched();
	}
	return ret;
}

/*
 * hmm_range_fault() only looks: faults of its own would hold the mmap lock while they wait, and
 * userfaultfd does not serve them.
 */
static int chunk_bring_in(struct odp_chunk *chunk, unsigned long start, unsigned long end,
			  enum wanted wanted)
{
	struct tern_odp *odp = chunk->odp;
	struct hmm_range range = {
		.notifier = &chunk->notifier,
		.start = start & PAGE_MASK,
		.end = PAGE_ALIGN(end),
		.hmm_pfns = odp->pfn,
	};
	u32 looks;
	bool done;
	int ret;

	for (looks = 0; looks < MAX_LOOKS; looks++) {
		range.notifier_seq = mmu_interval_read_begin(&chunk->notifier);
		memset(odp->pfn, 0, (range.end - range.start) / PAGE_SIZE * sizeof(*odp->pfn));
		mmap_read_lock(odp->mm);
		ret = hmm_range_fault(&range);
		if (!ret)
			ret = fault_in(odp, &range, wanted);
		done = !ret && chunk_fill(chunk, &range, &ret);
		mmap_read_unlock(odp->mm);
		if (done || (ret < 0 && ret != -EBUSY))
			return ret;
		cond_resched();
	}
	/* The pages come and go. The access is tried again, and asks again. */
	return 0;
}

/* [start, end) within one chunk. */
static int bring_in_of_chunk(struct tern_odp *odp, unsigned long start, unsigned long end,
			     enum wanted wanted)
{
	struct odp_chunk *chunk = chunk_lookup(odp, start);
	bool is_new = !chunk;
	int err;

	if (is_new) {
		chunk = chunk_alloc(odp, start);
		if (IS_ERR(chunk))
			return PTR_ERR(chunk);
	}
	err = chunk_bring_in(chunk, start, end, wanted);
	if (!is_new)
		return err;
	/* Only with pages in it: the peer chooses addresses. */
	if (!err && any_present(chunk, 0, CHUNK_PAGES - 1))
		err = xa_err(xa_store(&odp->chunks, start >> CHUNK_SHIFT, chunk, TERN_GFP_CHARGED));
	else
		err = err ?: -EAGAIN;
	if (err)
		chunk_discard(odp, chunk);
	else
		atomic_inc(&odp->nchunks);
	return err == -EAGAIN ? 0 : err;
}

/* Has nobody use for the rest? Advice may be for all of an address space. */
static bool may_stop(const struct tern_region *region)
{
	/* Only our own reference keeps the address space of a process that has ended. */
	return READ_ONCE(region->state) == TERN_REGION_DEAD || fatal_signal_pending(current) ||
	       atomic_read(&region->odp->mm->mm_users) == 1;
}

/* fault_lock held. */
static int bring_in_chunks(struct tern_region *region, u64 addr, u64 length, enum wanted wanted)
{
	u64 end = addr + length;
	int err = 0;

	while (!err && addr != end) {
		u64 n = mem_block_run(addr, end - addr, CHUNK_SHIFT);

		err = may_stop(region) ? -EINTR :
					 bring_in_of_chunk(region->odp, addr, addr + n, wanted);
		addr += n;
		cond_resched();
	}
	return err;
}

/*
 * A page may come only when the program does something, as with userfaultfd, and that may wait for
 * the region's end. So tern_odp_stop() kills the wait, which in a program's own thread a signal
 * does. Both have fault_lock.
 */
static void faulter_begin(struct tern_odp *odp)
{
	if (!(current->flags & PF_KTHREAD))
		return;
	allow_kernel_signal(SIGKILL);
	spin_lock(&odp->lock);
	odp->faulter = current;
	spin_unlock(&odp->lock);
}

static void faulter_end(struct tern_odp *odp)
{
	if (!(current->flags & PF_KTHREAD))
		return;
	spin_lock(&odp->lock);
	odp->faulter = NULL;
	spin_unlock(&odp->lock);
	disallow_signal(SIGKILL);
	flush_signals(current);
}

/* A thread that begins later sees that the region is dead. */
void tern_odp_stop(struct tern_odp *odp)
{
	spin_lock(&odp->lock);
	if (odp->faulter)
		send_sig(SIGKILL, odp->faulter, 1);
	spin_unlock(&odp->lock);
}

/* addr of the owner. */
static int bring_in(struct tern_region *region, u64 addr, u64 length, enum wanted wanted)
{
	struct tern_odp *odp = region->odp;
	struct mem_cgroup *memcg, *old;
	int err;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	memcg = get_mem_cgroup_from_mm(odp->mm);
	old = set_active_memcg(memcg);
	/* A program that asks for pages may be killed while others are waited for. */
	err = mutex_lock_killable(&odp->fault_lock);
	if (!err) {
		faulter_begin(odp);
		err = bring_in_chunks(region, addr, length, wanted);
		faulter_end(odp);
		mutex_unlock(&odp->fault_lock);
	}
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	mmput(odp->mm);
	return err;
}

static struct tern_region *find_region(struct tern_keys *keys, u32 key)
{
	struct tern_region *region;

	rcu_read_lock_bh();
	region = tern_key_lookup(keys, key);
	if (region && (region->kind != TERN_REGION_ODP || region->key != key ||
		       !refcount_inc_not_zero(&region->ref)))
		region = NULL;
	rcu_read_unlock_bh();
	return region;
}

struct workqueue_struct *tern_odp_fault_prepare(struct tern_keys *keys, struct tern_fault *fault)
{
	fault->region = find_region(keys, fault->key);
	return fault->region ? fault->region->odp->wq : NULL;
}

int tern_odp_fault(struct tern_fault *fault)
{
	enum wanted wanted = fault->write ? WANT_WRITABLE : WANT_PAGE;
	struct tern_region *region = fault->region;
	int err;

	if (!region)
		return 0;
	err = bring_in(region, fault->addr, fault->length, wanted);
	/* If these cannot be had, the access that needs them finds out. */
	if (!err && fault->more)
		bring_in(region, fault->addr + fault->length, fault->more, wanted);
	tern_region_put(region);
	return err;
}

/* ---- advice ---- */

struct tern_region *tern_odp_find(struct tern_keys *keys, const struct ib_pd *pd, u32 lkey, u64 va,
				  u64 length, enum tern_odp_advice advice)
{
	struct tern_region *region = find_region(keys, lkey);
	int err = 0;

	if (!region)
		return ERR_PTR(-EINVAL);
	if (region->pd != pd)
		err = -EPERM;
	else if (!mem_range_within(region->iova, region->length, va, length))
		err = -EFAULT;
	else if (advice == TERN_ODP_WRITE && !(region->access & IB_ACCESS_LOCAL_WRITE))
		err = -EPERM;
	if (!err)
		return region;
	tern_region_put(region);
	return ERR_PTR(err);
}

struct workqueue_struct *tern_odp_wq(const struct tern_region *region)
{
	return region->odp->wq;
}

int tern_odp_prefetch(struct tern_region *region, u64 va, u64 length, enum tern_odp_advice advice)
{
	static const enum wanted wanted[] = {
		[TERN_ODP_READ] = WANT_PAGE,
		[TERN_ODP_WRITE] = WANT_WRITABLE,
		[TERN_ODP_PRESENT] = WANT_NOTHING,
	};

	return bring_in(region, region->block_off + (va - region->iova), length,
			wanted[advice]);
}

u32 tern_odp_tables(const struct tern_region *region)
{
	return region->odp ? atomic_read(&region->odp->nchunks) : 0;
}

/* ---- life ---- */

int tern_odp_attach(struct tern_region *region, struct workqueue_struct *wq)
{
	struct tern_odp *odp = kzalloc(sizeof(*odp), TERN_GFP_CHARGED);

	if (!odp)
		return -ENOMEM;
	odp->pfn = (unsigned long *)__get_free_page(TERN_GFP_CHARGED);
	if (!odp->pfn) {
		kfree(odp);
		return -ENOMEM;
	}
	mmgrab(current->mm);
	odp->mm = current->mm;
	odp->persistent = region->access & IB_ACCESS_FLUSH_PERSISTENT;
	odp->wq = wq;
	xa_init_flags(&odp->chunks, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&odp->emptied);
	INIT_DELAYED_WORK(&odp->sweep, sweep_chunks);
	mutex_init(&odp->fault_lock);
	spin_lock_init(&odp->lock);
	region->odp = odp;
	return 0;
}

void tern_odp_free(struct tern_odp *odp)
{
	struct odp_chunk *chunk;
	unsigned long i;
	LIST_HEAD(gone);

	if (!odp)
		return;
	mutex_lock(&odp->fault_lock);
	xa_for_each(&odp->chunks, i, chunk) {
		chunk_take(odp, chunk, &gone);
		cond_resched();
	}
	mutex_unlock(&odp->fault_lock);
	chunks_destroy(&gone);
	/* Now nothing is emptied any more. */
	cancel_delayed_work_sync(&odp->sweep);
	xa_destroy(&odp->chunks);
	mmdrop(odp->mm);
	free_page((unsigned long)odp->pfn);
	kfree(odp);
}

#endif
