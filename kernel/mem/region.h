/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A region: registered memory (user MRs, DMA MRs, fast-register MRs) or a window
 * on it, and its life from create to free. keys.h finds it; span.h accesses it.
 */
#ifndef TERN_MEM_REGION_H
#define TERN_MEM_REGION_H

#include <linux/completion.h>
#include <linux/instruction_pointer.h>
#include <linux/irqflags.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

struct ib_umem;
struct mem_piece;
struct tern_area;
struct tern_dmabuf;
struct tern_keys;
struct tern_mr;
struct tern_odp;

#define TERN_ACCESS_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_ATOMIC)
/* Remote rights that change memory; they require IB_ACCESS_LOCAL_WRITE. */
#define TERN_ACCESS_ALTERS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)
/* Flags that a region may be registered with; the optional range is hints. */
#define TERN_ACCESS_KNOWN	(IB_ACCESS_LOCAL_WRITE | TERN_ACCESS_REMOTE | IB_ACCESS_MW_BIND | \
				 IB_ZERO_BASED | IB_ACCESS_HUGETLB | IB_ACCESS_FLUSH_GLOBAL | \
				 IB_ACCESS_FLUSH_PERSISTENT | IB_ACCESS_ON_DEMAND | \
				 IB_ACCESS_OPTIONAL)

enum tern_region_kind {
	TERN_REGION_USER,	/* ib_umem */
	TERN_REGION_DMA,	/* all of kernel memory (get_dma_mr) */
	TERN_REGION_ODP,	/* user memory that is not pinned: odp.h */
	TERN_REGION_FAST,	/* ib_alloc_mr + IB_WR_REG_MR */
	TERN_REGION_MAPPED,	/* one piece of kernel addresses: a dma-buf, device memory */
	TERN_REGION_MW1,
	TERN_REGION_MW2,
};

enum tern_region_state {
	/* FAST, MW, MAPPED: new, invalidated, unbound, revoked; lets nothing through */
	TERN_REGION_FREE,
	TERN_REGION_VALID,
	/* FAST, MW, MAPPED: FREE when the last span is gone; no new one, no bind */
	TERN_REGION_CLOSING,
	TERN_REGION_DEAD,	/* being destroyed: no new span, bind or registration */
};

struct tern_region {
	refcount_t ref;
	struct completion released;
	struct rcu_head rcu;
	spinlock_t lock;	/* state changes: reg, invalidate, bind */
	u8 kind;		/* enum tern_region_kind */
	u8 state;		/* enum tern_region_state */
	u32 key;		/* present key; lkey == rkey */
	struct ib_pd *pd;
	u32 access;		/* enum ib_access_flags */
	u64 iova;
	u64 length;		/* bytes */
	/* memory: blocks of 1 << block_shift bytes, by kernel virtual address */
	void **block;
	u32 nblocks;
	u32 max_blocks;		/* FAST */
	u32 block_shift;
	u64 block_off;		/* of iova within block[0]; windows: within the MR's */
	struct mem_piece *piece;	/* FAST with gaps: nblocks of them, and no blocks */
	struct ib_umem *umem;
	struct tern_odp *odp;	/* ODP: block_off is the owner's address of iova, block NULL */
	struct tern_dmabuf *dmabuf;	/* MAPPED: one of these two */
	struct tern_area *area;
	struct tern_region *instead;	/* USER, DEAD: re-registered as that one; under lock */
	/* FAST: what ib_map_mr_sg left for the next TERN_WR_REG_MR */
	struct tern_mr *fast;
	void **pending;
	struct mem_piece *pending_piece;
	/* windows */
	struct tern_region *mr;	/* bound region; holds mr->bound_windows */
	atomic_t bound_windows;	/* regions: dereg/rereg is -EBUSY while not 0 */
	u32 bound_qpn;		/* MW2 */
	struct list_head bound_node;	/* MW2, bound: in its QP's tern_mem_ctx.bound */
};

struct tern_mr {
	struct ib_mr ibmr;
	struct tern_region *region;
	u32 pending_blocks;	/* FAST: filled by ib_map_mr_sg */
};

static inline bool tern_region_is_window(const struct tern_region *region)
{
	return region->kind == TERN_REGION_MW1 || region->kind == TERN_REGION_MW2;
}

/* ---- verbs ---- */

/* All of kernel memory. May sleep. ERR_PTR. */
struct tern_region *tern_region_get_dma(struct tern_keys *keys, struct ib_pd *pd, int access);

/*
 * Unpublish, wait for spans, free. For windows there is tern_window_destroy(). -EBUSY while
 * windows are bound to it: then it stays. Sleeps.
 */
int tern_region_destroy(struct tern_keys *keys, struct tern_region *region);

/* ---- among the files of mem/ ---- */

/* May user memory, or what is like it, be registered with these flags? 0 or -EOPNOTSUPP/-EINVAL. */
int tern_region_access_check(int access);
/* A region of a reserved key, FREE and not yet published. ERR_PTR(-ENOMEM/-EBUSY). */
struct tern_region *tern_region_create(struct tern_keys *keys, struct ib_pd *pd,
				       enum tern_region_kind kind);
/* Undoes create of a region that was never published. Sleeps. */
void tern_region_abort(struct tern_keys *keys, struct tern_region *region);
/* Its address, length and rights; with IB_ZERO_BASED addresses are offsets. -EINVAL: it wraps. */
int tern_region_place(struct tern_region *region, u64 iova, u64 length, int access);
/*
 * Do these bytes of physical memory survive a loss of power once the caches are written back? Takes
 * a lock that is not for softirqs.
 */
bool tern_memory_is_persistent(phys_addr_t phys, size_t bytes);
/* Its memory, before it is published: one piece of kernel addresses. -ENOMEM. */
int tern_region_map_one(struct tern_region *region, void *kva);
/* After unpublishing: drop the owner's reference and sleep until the last span is gone. */
void tern_region_drain(struct tern_region *region);
/* After draining: free the memory, and the region a grace period later. Sleeps. */
void tern_region_free(struct tern_region *region);
/*
 * FREE or VALID to DEAD; -EBUSY if windows are bound. instead: the region that replaces it, or
 * NULL. Lookups that found the dead one by its key go on with the replacement.
 */
int tern_region_kill(struct tern_region *region, struct tern_region *instead);
/*
 * MAPPED: VALID to FREE for ever. No span is left on return. The caller excludes
 * tern_region_destroy().
 */
void tern_region_revoke(struct tern_region *region);

/*
 * The rules of spans (span.h) for lockdep. Holding a span is a shared lock, taken by trylock.
 * Waiting for the last span takes the lock exclusively.
 */
#ifdef CONFIG_LOCKDEP
extern struct lockdep_map tern_span_map;
#endif

static __always_inline void tern_span_held(void)
{
	lock_acquire(&tern_span_map, 0, 1, 2, 1, NULL, _THIS_IP_);
}

static __always_inline void tern_span_left(void)
{
	lock_release(&tern_span_map, _THIS_IP_);
}

static __always_inline void tern_spans_waited_for(void)
{
	unsigned long irq;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	/* A waiter holds no span, so an interrupt here may wait too. Hide it from lockdep. */
	local_irq_save(irq);
	lock_acquire(&tern_span_map, 0, 0, 0, 1, NULL, _THIS_IP_);
	lock_release(&tern_span_map, _THIS_IP_);
	local_irq_restore(irq);
}

/*
 * From CLOSING to FREE: spins until no span of the region is left. No new span comes meanwhile, and
 * a span's holder waits for nothing, so this does not take long.
 */
void tern_region_close(struct tern_region *region);

static inline void tern_region_put(struct tern_region *region)
{
	if (refcount_dec_and_test(&region->ref))
		complete(&region->released);
}

#endif
