/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registered memory: keys, regions (user MRs, DMA MRs, fast-register MRs) and
 * windows, and the only operations that the transports do on them: resolve a
 * (key, address, length) under checks, copy in, copy out, atomics. All of
 * iova + length overflow checking is in here.
 *
 * A resolved span holds a reference, so that dereg waits; spans live no longer
 * than one batch of work (softirq or doorbell), never across a wait.
 *
 * Invalidation, rebinding and unbinding take rights away and then spin until
 * no span that was obtained under those rights is left, because their completion
 * tells the consumer that the memory is its own again. Sleeping is impossible
 * there, so spans obey three rules: they are held with BH (or IRQs) disabled; their
 * holder waits for nothing; and who calls tern_mem_invalidate(), _bind(),
 * _unbind_qp() holds no span. Lockdep looks after the last two (region.h).
 */
#ifndef TERN_MEM_MEM_H
#define TERN_MEM_MEM_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "proto/atomic.h"
#include "tern-abi.h"

/* All keys of a device. key = index << 8 | variant; index 0 is never used. */
struct tern_keys {
	struct xarray xa;	/* index -> struct tern_region, RCU */
	/* Of all regions whose indices are the same modulo its size, the last published. */
	struct tern_region __rcu *newest[256];
	spinlock_t bound_lock;	/* which type 2 windows are bound through which QP; IRQs off */
	struct ib_device *ibdev;
};

enum tern_region_kind {
	TERN_REGION_USER,	/* ib_umem */
	TERN_REGION_DMA,	/* all of kernel memory (get_dma_mr) */
	TERN_REGION_FAST,	/* ib_alloc_mr + IB_WR_REG_MR */
	TERN_REGION_MW1,
	TERN_REGION_MW2,
};

enum tern_region_state {
	TERN_REGION_FREE,	/* FAST, MW: new, invalidated, unbound; lets nothing through */
	TERN_REGION_VALID,
	TERN_REGION_CLOSING,	/* FAST, MW: FREE when the last span is gone; no new one, no bind */
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
	struct ib_umem *umem;
	struct tern_region *instead;	/* USER, DEAD: re-registered as that one; under lock */
	/* FAST: what ib_map_mr_sg left for the next TERN_WR_REG_MR */
	struct tern_mr *fast;
	void **pending;
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

struct tern_mw {
	struct ib_mw ibmw;
	struct tern_region *region;
};

void tern_keys_init(struct tern_keys *keys, struct ib_device *ibdev);
void tern_keys_destroy(struct tern_keys *keys);	/* WARNs on leftovers */

/* ---- verbs side: create and destroy regions. All may sleep. ERR_PTR on error. ---- */
struct tern_region *tern_region_reg_user(struct tern_keys *keys, struct ib_pd *pd, u64 start,
					 u64 length, u64 iova, int access);
struct tern_region *tern_region_get_dma(struct tern_keys *keys, struct ib_pd *pd, int access);
struct tern_region *tern_region_alloc_fast(struct tern_keys *keys, struct ib_pd *pd,
					   u32 max_pages);
struct tern_region *tern_region_alloc_mw(struct tern_keys *keys, struct ib_pd *pd, bool type2);
/*
 * Any of IB_MR_REREG_{TRANS,PD,ACCESS}; on error the region is as before. -EBUSY
 * if bound. On success mr->region is a new region under the same key: a span
 * sees all of the old registration or all of the new one.
 */
int tern_region_rereg_user(struct tern_keys *keys, struct tern_mr *mr, int flags, u64 start,
			   u64 length, u64 iova, int access, struct ib_pd *pd);
/* Unpublish, wait for spans, free. -EBUSY while windows are bound to it (it stays). */
int tern_region_destroy(struct tern_keys *keys, struct tern_region *region);
/* ib_device_ops.map_mr_sg for FAST regions. */
int tern_region_map_sg(struct tern_mr *mr, struct scatterlist *sg, int sg_nents,
		       unsigned int *sg_offset);

/* ---- transport side. Context: any up to softirq; nothing sleeps. ---- */

/* Who asks: PD and (for type 2 windows) QP must match the key's. */
struct tern_mem_ctx {
	struct tern_keys *keys;
	const struct ib_pd *pd;
	u32 qpn;
	struct list_head bound;	/* type 2 windows, under keys->bound_lock */
};

void tern_mem_ctx_init(struct tern_mem_ctx *ctx, struct tern_keys *keys, const struct ib_pd *pd,
		       u32 qpn);

struct tern_span {
	struct tern_region *region;	/* memory; NULL: zero bytes, nothing held */
	struct tern_region *window;	/* that it was reached through, or NULL */
	u64 off;			/* of the span's first byte in blocks: block_off included */
	u64 length;
	void *kva;			/* DMA regions: address of the first byte */
};

/*
 * Resolve. need: IB_ACCESS_{LOCAL_WRITE,REMOTE_WRITE,REMOTE_READ,REMOTE_ATOMIC}
 * bits that the key must grant (0: local read; DMA regions and local access use
 * the lkey). length 0 succeeds without looking at the key (IBTA C9-88).
 * 0, -EACCES (rights, state), -EPERM (another PD's, or QP's), -EINVAL (no such key),
 * -ERANGE (bounds).
 * On 0 the caller owes a tern_span_put().
 */
int tern_span_get(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
		  struct tern_span *span);
void tern_span_put(struct tern_span *span);

/* off + n <= span->length is the caller's duty (WARN_ON_ONCE and clipped otherwise). */
void tern_span_write(const struct tern_span *span, u64 off, const void *src, size_t n);
void tern_span_read(const struct tern_span *span, u64 off, void *dst, size_t n);
/*
 * One access to [off, off + n) of what is resolved, and no span to keep: as get,
 * write or read, put. -ERANGE too if that is not all in it.
 */
int tern_span_write_once(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
			 u64 off, const void *src, size_t n);
int tern_span_read_once(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
			u64 off, void *dst, size_t n);
/*
 * fn(arg, p, n) for each contiguous piece of [off, off + n), in order, until one
 * does not return 0: that is returned.
 */
typedef int (*tern_mem_fn)(void *arg, const void *p, size_t n);
int tern_span_walk(const struct tern_span *span, u64 off, size_t n, tern_mem_fn fn, void *arg);
/* 8-byte aligned, or -EINVAL. Atomic against the CPU's own 64-bit atomics. */
int tern_span_atomic(const struct tern_span *span, const struct atomic_op *op, u64 *orig);

/*
 * A gather/scatter list walked mostly forwards: caches the SGE it is in and
 * its span. begin/end pair within one batch.
 */
struct tern_sgl {
	const struct tern_mem_ctx *ctx;
	const struct tern_sge *sge;
	u32 num_sge;
	u32 need;		/* IB_ACCESS_LOCAL_WRITE for scatter, 0 for gather */
	u32 cur;		/* SGE of the cached span; num_sge: none */
	u64 cur_base;		/* offset of that SGE in the message */
	struct tern_span span;
};

void tern_sgl_begin(struct tern_sgl *sgl, const struct tern_mem_ctx *ctx,
		    const struct tern_sge *sge, u32 num_sge, u32 need);
void tern_sgl_end(struct tern_sgl *sgl);
/* 0, or tern_span_get()'s errors; -ERANGE past the end of the list. */
int tern_sgl_write(struct tern_sgl *sgl, u64 off, const void *src, size_t n);
int tern_sgl_read(struct tern_sgl *sgl, u64 off, void *dst, size_t n);
/* As tern_span_walk(), or those errors. Without fn: only look whether it may be read. */
int tern_sgl_walk(struct tern_sgl *sgl, u64 off, size_t n, tern_mem_fn fn, void *arg);

/* For tern_sges_write() and _read(): those of lists that are walked. */
int tern_sges_walk_write(const struct tern_mem_ctx *ctx, const struct tern_sge *sge, u32 num_sge,
			 u64 off, const void *src, size_t n);
int tern_sges_walk_read(const struct tern_mem_ctx *ctx, const struct tern_sge *sge, u32 num_sge,
			u64 off, void *dst, size_t n);

/*
 * One access to a list, without a walk to keep: as begin, write or read, end. Of
 * a single SGE, as most often, its rights are those of all of it, like there.
 */
static inline int tern_sges_write(const struct tern_mem_ctx *ctx, const struct tern_sge *sge,
				  u32 num_sge, u64 off, const void *src, size_t n)
{
	if (likely(num_sge == 1 && n))
		return tern_span_write_once(ctx, sge->lkey, sge->addr, sge->length,
					    IB_ACCESS_LOCAL_WRITE, off, src, n);
	return tern_sges_walk_write(ctx, sge, num_sge, off, src, n);
}

static inline int tern_sges_read(const struct tern_mem_ctx *ctx, const struct tern_sge *sge,
				 u32 num_sge, u64 off, void *dst, size_t n)
{
	if (likely(num_sge == 1 && n))
		return tern_span_read_once(ctx, sge->lkey, sge->addr, sge->length, 0, off, dst, n);
	return tern_sges_walk_read(ctx, sge, num_sge, off, dst, n);
}

/* Fast registration (TERN_WR_REG_MR), invalidation, bind: 0 or -EINVAL/-EACCES/-ERANGE. */
int tern_mem_reg(const struct tern_mem_ctx *ctx, u32 key, u32 new_key, u32 access);
/* remote: SEND_WITH_INV from the peer; user MRs and type 1 windows cannot be invalidated. */
int tern_mem_invalidate(const struct tern_mem_ctx *ctx, u32 key, bool remote);
int tern_mem_bind(struct tern_mem_ctx *ctx, u32 mw_rkey, u32 new_rkey, u32 mr_lkey,
		  u64 addr, u64 length, u32 access);
/*
 * A QP is being destroyed, nothing is executed for it any more: type 2 windows bound through it
 * become FREE (IBTA 10.6.7). Sleeps.
 */
void tern_mem_unbind_qp(struct tern_mem_ctx *ctx);

#endif
