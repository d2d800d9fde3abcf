/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: regions whose pages are not pinned. A page is found when it is first
 * accessed, and used until the MMU notifier takes it away.
 *
 * A span (span.h) gives the rights. Before bytes of it are touched, the holder asks
 * whether their pages are present. If not, the access ends with -EAGAIN and leaves a
 * note (struct tern_fault). The QP has the note's pages brought in by a thread that may
 * sleep, and then does the access again, from the start.
 *
 * With FLUSH_PERSISTENT any memory can be registered, for its pages may be others at each look.
 * Which are persistent memory is found out when they are brought in, and a FLUSH that must have
 * them so asks for that.
 *
 * An invalidation lets no new span through, and spins until no span of the region is left.
 * Spans are short and wait for nothing (span.h).
 */
#ifndef TERN_MEM_ODP_H
#define TERN_MEM_ODP_H

#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "mem/ctx.h"
#include "mem/region.h"

struct tern_keys;
struct tern_odp;

/* At most this much is brought in by a fault beyond what its access must have. Not measured. */
#define TERN_ODP_AHEAD_BYTES	(2u << 20)

/* Does this kernel have what it takes? */
#define TERN_ODP_BUILT (IS_ENABLED(CONFIG_HMM_MIRROR) && IS_ENABLED(CONFIG_MMU_NOTIFIER) && \
		      IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) && IS_ENABLED(CONFIG_64BIT))

/* How ibv_advise_mr() wants pages brought in. */
enum tern_odp_advice {
	TERN_ODP_READ,
	TERN_ODP_WRITE,
	TERN_ODP_PRESENT,	/* only those that are in memory, without a page fault */
};

#if TERN_ODP_BUILT

/*
 * Gives region, whose rights are set, the caller's address space, no page of it present. wq: for
 * its faults; stays until the region is freed. 0, -ENOMEM. Sleeps.
 */
int tern_odp_attach(struct tern_region *region, struct workqueue_struct *wq);
/* Undoes attach; no span and no fault is under way. NULL: nothing. Sleeps. */
void tern_odp_free(struct tern_odp *odp);
/*
 * The region is dead: a kernel thread that waits for a page of it waits no longer. Process context.
 */
void tern_odp_stop(struct tern_odp *odp);

/* A span begins, or -EAGAIN: an invalidation is under way. Any context up to softirq. */
int tern_odp_enter(const struct tern_mem_ctx *ctx, struct tern_region *region, u64 addr,
		   bool write);
/* The span ends. */
void tern_odp_leave(struct tern_odp *odp);

/*
 * Are all pages of [addr, addr + n) present, for writing if write? addr: of the owner. more: bytes
 * behind them, within the region, that are touched next. 0; -EAGAIN: not now, and noted in ctx;
 * -EFAULT: a fault for them has failed. Within a span.
 */
int tern_odp_present(const struct tern_mem_ctx *ctx, const struct tern_region *region, u64 addr,
		     u64 n, u64 more, bool write);
/*
 * Kernel address of the byte at addr, which is present; the bytes up to its page's end are, too.
 * NULL: it is not present. Within a span.
 */
void *tern_odp_address(const struct tern_odp *odp, u64 addr);

/*
 * Would all of [addr, addr + n), which is present, survive a loss of power if it were written
 * back? The region has FLUSH_PERSISTENT. Within a span.
 */
bool tern_odp_is_persistent(const struct tern_odp *odp, u64 addr, u64 n);

/*
 * Holds the region of a note until tern_odp_fault(). The caller calls that from the work queue
 * returned. NULL: there is no such region any more. Any context up to softirq.
 */
struct workqueue_struct *tern_odp_fault_prepare(struct tern_keys *keys, struct tern_fault *fault);
/*
 * Brings in the pages of a note. 0, or why the access must fail. Sleeps, as long as a page takes.
 */
int tern_odp_fault(struct tern_fault *fault);

/*
 * A region of pd for advice on [va, va + length), referenced. ERR_PTR: -EINVAL no such key, or not
 * on demand; -EPERM another PD's, or not to be written; -EFAULT not within it.
 */
struct tern_region *tern_odp_find(struct tern_keys *keys, const struct ib_pd *pd, u32 lkey, u64 va,
				  u64 length, enum tern_odp_advice advice);
/* Where a region's pages are brought in. */
struct workqueue_struct *tern_odp_wq(const struct tern_region *region);
/*
 * Sleeps. 0 or an error of the first page that cannot be had; -EPERM: its owner may not write to
 * it.
 */
int tern_odp_prefetch(struct tern_region *region, u64 va, u64 length, enum tern_odp_advice advice);

/* Tables of pages that a region has at present, one for each 2 MiB (of 4 KiB pages) in use. */
u32 tern_odp_tables(const struct tern_region *region);

#else

static inline int tern_odp_attach(struct tern_region *region, struct workqueue_struct *wq)
{
	return -EOPNOTSUPP;
}

static inline void tern_odp_free(struct tern_odp *odp)
{
}

static inline void tern_odp_stop(struct tern_odp *odp)
{
}

static inline int tern_odp_enter(const struct tern_mem_ctx *ctx, struct tern_region *region,
				 u64 addr, bool write)
{
	return -EACCES;
}

static inline void tern_odp_leave(struct tern_odp *odp)
{
}

static inline int tern_odp_present(const struct tern_mem_ctx *ctx,
				   const struct tern_region *region, u64 addr, u64 n, u64 more,
				   bool write)
{
	return -EFAULT;
}

static inline void *tern_odp_address(const struct tern_odp *odp, u64 addr)
{
	return NULL;
}

static inline bool tern_odp_is_persistent(const struct tern_odp *odp, u64 addr, u64 n)
{
	return false;
}

static inline struct workqueue_struct *tern_odp_fault_prepare(struct tern_keys *keys,
							     struct tern_fault *fault)
{
	return NULL;
}

static inline int tern_odp_fault(struct tern_fault *fault)
{
	return -EFAULT;
}

static inline struct tern_region *tern_odp_find(struct tern_keys *keys, const struct ib_pd *pd,
						u32 lkey, u64 va, u64 length,
						enum tern_odp_advice advice)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline struct workqueue_struct *tern_odp_wq(const struct tern_region *region)
{
	return NULL;
}

static inline int tern_odp_prefetch(struct tern_region *region, u64 va, u64 length,
				    enum tern_odp_advice advice)
{
	return -EOPNOTSUPP;
}

static inline u32 tern_odp_tables(const struct tern_region *region)
{
	return 0;
}

#endif

#endif
