// SPDX-License-Identifier: GPL-2.0
/*
 * Spans: every access to registered memory goes through here. get checks key,
 * state, PD, QP, rights and bounds once; the other functions walk blocks.
 */
#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/string.h>

#include "mem/bounds.h"
#include "mem/copy.h"
#include "mem/ctx.h"
#include "mem/keys.h"
#include "mem/odp.h"
#include "mem/region.h"
#include "mem/span.h"
#include "tern-abi.h"
#include "uncleared.h"

/* What the null region gives, again and again. */
static const u8 zeros[1024];

/* Checks everything except the state. How the state is kept stable differs by kind. */
static __always_inline int span_check(const struct tern_mem_ctx *ctx,
				      const struct tern_region *region, u32 key, u64 va,
				      u64 length, u32 need)
{
	if (region->key != key)
		return -EINVAL;
	if (region->pd != ctx->pd)
		return -EPERM;
	if ((region->access & need) != need)
		return -EACCES;
	/* Windows grant rights only to peers. */
	if (tern_region_is_window(region) && (!need || need & ~TERN_ACCESS_REMOTE))
		return -EACCES;
	if (region->kind == TERN_REGION_MW2 && region->bound_qpn != ctx->qpn)
		return -EPERM;
	if (!mem_range_within(region->iova, region->length, va, length))
		return -ERANGE;
	return 0;
}

static void span_fill(struct tern_span *span, struct tern_region *region, u64 va, u64 length)
{
	tern_span_held();
	span->region = region;
	span->length = length;
	if (region->kind == TERN_REGION_DMA)
		span->kva = (void *)(uintptr_t)va;
	else
		span->off = region->block_off + (va - region->iova);
}

/* The region was dying when it was found. Returns its replacement, referenced, or NULL. */
static noinline struct tern_region *get_instead(struct tern_region *region)
{
	do {
		/*
		 * The reference is dropped after `instead` is written. Pairs with
		 * tern_region_drain().
		 */
		smp_rmb();
		region = READ_ONCE(region->instead);
	} while (region && !refcount_inc_not_zero(&region->ref));
	return region;
}

/* USER, DMA: they do not change from publication until no key finds them. */
static __always_inline int span_get_fixed(const struct tern_mem_ctx *ctx,
					  struct tern_region *region, u32 key, u64 va, u64 length,
					  u32 need, struct tern_span *span)
{
	int err;

	if (unlikely(!refcount_inc_not_zero(&region->ref))) {
		region = get_instead(region);
		if (!region)
			return -EINVAL;
	}

	err = span_check(ctx, region, key, va, length, need);
	if (err) {
		tern_region_put(region);
		return err;
	}
	span_fill(span, region, va, length);
	return 0;
}

/* Rights that are for changing memory. */
static bool need_alters(u32 need)
{
	return need & (IB_ACCESS_LOCAL_WRITE | TERN_ACCESS_ALTERS);
}

/*
 * The others: all is decided under the lock that guards changes. If the state is not DEAD, the
 * owner's reference is still held, and the binding holds a bound window's MR.
 */
static int span_get_changing(const struct tern_mem_ctx *ctx, struct tern_region *region, u32 key,
			     u64 va, u64 length, u32 need, struct tern_span *span)
{
	struct tern_region *memory;
	unsigned long irq;
	int err;

	spin_lock_irqsave(&region->lock, irq);
	if (region->state == TERN_REGION_VALID)
		err = span_check(ctx, region, key, va, length, need);
	else
		err = region->key == key ? -EACCES : -EINVAL;
	if (err)
		goto unlock;
	memory = tern_region_is_window(region) ? region->mr : region;
	if (memory->odp)
		err = tern_odp_enter(ctx, memory, region->block_off + (va - region->iova),
				     need_alters(need));
	if (err)
		goto unlock;

	refcount_inc(&region->ref);
	span_fill(span, region, va, length);
	if (tern_region_is_window(region)) {
		refcount_inc(&region->mr->ref);
		span->window = region;
		span->region = region->mr;
	}
unlock:
	spin_unlock_irqrestore(&region->lock, irq);
	return err;
}

static noinline int span_get_null(u32 key, u64 length, u32 need, struct tern_span *span)
{
	if (key != TERN_NULL_LKEY || need & TERN_ACCESS_REMOTE)
		return -EINVAL;
	span->length = length;
	return 0;
}

static __always_inline int span_get(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length,
				    u32 need, struct tern_span *span)
{
	struct tern_region *region;

	/* This replaces rcu_read_lock(). */
	lockdep_assert(in_softirq() || irqs_disabled());

	memset(span, 0, sizeof(*span));
	if (!length)
		return 0;

	region = tern_key_lookup(ctx->keys, key);
	if (unlikely(!region))
		return span_get_null(key, length, need, span);
	if (likely(region->kind == TERN_REGION_USER || region->kind == TERN_REGION_DMA))
		return span_get_fixed(ctx, region, key, va, length, need, span);
	return span_get_changing(ctx, region, key, va, length, need, span);
}

static __always_inline void span_let_go(const struct tern_span *span)
{
	if (!span->region)
		return;
	tern_span_left();
	if (unlikely(span->region->odp))
		tern_odp_leave(span->region->odp);
	tern_region_put(span->region);
	if (span->window)
		tern_region_put(span->window);
}

int tern_span_get(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
		  struct tern_span *span)
{
	return span_get(ctx, key, va, length, need, span);
}

int tern_span_get_region(const struct tern_mem_ctx *ctx, u32 key, u32 need, struct tern_span *span)
{
	const struct tern_region *region;

	lockdep_assert(in_softirq() || irqs_disabled());
	region = tern_key_lookup(ctx->keys, key);
	if (!region)
		return -EINVAL;
	/* The bounds are checked again below: the region may be replaced meanwhile. */
	return span_get(ctx, key, READ_ONCE(region->iova), READ_ONCE(region->length), need, span);
}

void tern_span_put(struct tern_span *span)
{
	span_let_go(span);
	span->region = NULL;
	span->window = NULL;
	span->length = 0;
}

/* As span_chunk(), of a region without blocks, at offset pos of the region's memory. */
static noinline size_t blockless_chunk(const struct tern_region *region, u64 pos, u64 left,
				       void **p)
{
	u32 i;

	if (region->odp) {
		*p = tern_odp_address(region->odp, pos);
		return WARN_ON_ONCE(!*p) ? 0 : mem_block_run(pos, left, PAGE_SHIFT);
	}
	i = mem_piece_index(region->piece, region->nblocks, pos);
	*p = region->piece[i].kva + (pos - mem_pieces_end(region->piece, i));
	return min_t(u64, left, region->piece[i].end - pos);
}

/*
 * The contiguous bytes at off: address in *p, returns their number (>= 1 if off < length and they
 * are present).
 */
static __always_inline size_t span_chunk(const struct tern_span *span, u64 off, void **p)
{
	const struct tern_region *region = span->region;
	u64 left, pos;

	if (off >= span->length)
		return 0;

	left = span->length - off;
	if (unlikely(!region)) {
		*p = (void *)zeros;
		return min_t(u64, left, sizeof(zeros));
	}
	if (region->kind == TERN_REGION_DMA) {
		*p = span->kva + off;
		return min_t(u64, left, SIZE_MAX);
	}
	pos = span->off + off;
	if (unlikely(!region->block))
		return blockless_chunk(region, pos, left, p);
	*p = region->block[mem_block_index(pos, region->block_shift)] +
	     mem_block_offset(pos, region->block_shift);
	return mem_block_run(pos, left, region->block_shift);
}

/* The bytes of [off, off + n) inside the span: all, unless the caller has a bug. */
static size_t span_clip(const struct tern_span *span, u64 off, size_t n)
{
	if (WARN_ON_ONCE(!mem_range_within(0, span->length, off, n)))
		return off < span->length ? min_t(u64, n, span->length - off) : 0;
	return n;
}

static __always_inline void span_write(const struct tern_span *span, u64 off, const void *src,
				       size_t n)
{
	if (unlikely(!span->region))
		return;
	while (n) {
		void *p;
		size_t run = min(span_chunk(span, off, &p), n);

		if (unlikely(!run))
			return;
		if (run < n)
			tern_copy(p, src, run);
		else
			tern_copy_end_last(p, src, run);
		src += run;
		off += run;
		n -= run;
	}
}

static __always_inline void span_read(const struct tern_span *span, u64 off, void *dst, size_t n)
{
	while (n) {
		void *p;
		size_t run = min(span_chunk(span, off, &p), n);

		if (unlikely(!run))
			return;
		tern_copy(dst, p, run);
		dst += run;
		off += run;
		n -= run;
	}
}

void tern_span_write(const struct tern_span *span, u64 off, const void *src, size_t n)
{
	span_write(span, off, src, span_clip(span, off, n));
}

void tern_span_read(const struct tern_span *span, u64 off, void *dst, size_t n)
{
	span_read(span, off, dst, span_clip(span, off, n));
}

static __always_inline int span_present(const struct tern_mem_ctx *ctx,
					const struct tern_span *span, u64 off, u64 n, u64 more,
					u32 need)
{
	if (likely(!span->region || !span->region->odp || !n))
		return 0;
	return tern_odp_present(ctx, span->region, span->off + off, n,
				min(more, span->length - off - n), need_alters(need));
}

int tern_span_present(const struct tern_mem_ctx *ctx, const struct tern_span *span, u64 off, u64 n,
		      u64 more, u32 need)
{
	return span_present(ctx, span, off, n, more, need);
}

bool tern_span_is_persistent(const struct tern_span *span, u64 off, u64 n)
{
	return !span->region || !span->region->odp || !n ||
	       tern_odp_is_persistent(span->region->odp, span->off + off, n);
}

/* As tern_span_get(), for [off, off + n) of the range, which are present. */
static __always_inline int span_get_for(const struct tern_mem_ctx *ctx, u32 key, u64 va,
					u64 length, u32 need, u64 off, size_t n,
					struct tern_span *span)
{
	int err;

	if (!mem_range_within(0, length, off, n))
		return -ERANGE;
	err = span_get(ctx, key, va, length, need, span);
	if (err)
		return err;
	err = span_present(ctx, span, off, n, length - off - n, need);
	if (unlikely(err))
		span_let_go(span);
	return err;
}

int tern_span_write_once(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
			 u64 off, const void *src, size_t n)
{
	struct tern_span span TERN_UNCLEARED;
	int err;

	err = span_get_for(ctx, key, va, length, need, off, n, &span);
	if (err)
		return err;
	span_write(&span, off, src, n);
	span_let_go(&span);
	return 0;
}

int tern_span_read_once(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
			u64 off, void *dst, size_t n)
{
	struct tern_span span TERN_UNCLEARED;
	int err;

	err = span_get_for(ctx, key, va, length, need, off, n, &span);
	if (err)
		return err;
	span_read(&span, off, dst, n);
	span_let_go(&span);
	return 0;
}

int tern_span_walk(const struct tern_span *span, u64 off, size_t n, tern_mem_fn fn, void *arg)
{
	int ret = 0;

	n = span_clip(span, off, n);
	while (n && !ret) {
		void *p;
		size_t run = min(span_chunk(span, off, &p), n);

		if (unlikely(!run))
			return -EFAULT;
		ret = fn(arg, p, run);
		off += run;
		n -= run;
	}
	return ret;
}

/* Eight aligned bytes lie in one block. Unaligned ones, which may cross a block's end: NULL. */
static atomic64_t *span_word(const struct tern_span *span)
{
	void *p;

	if (span_chunk(span, 0, &p) < sizeof(atomic64_t) ||
	    !IS_ALIGNED((uintptr_t)p, sizeof(atomic64_t)))
		return NULL;
	return p;
}

int tern_span_store(const struct tern_span *span, u64 value)
{
	atomic64_t *target = span_word(span);

	if (!target)
		return -EINVAL;
	atomic64_set_release(target, value);
	return 0;
}

int tern_span_atomic(const struct tern_span *span, const struct atomic_op *op, u64 *orig)
{
	atomic64_t *target = span_word(span);
	s64 old;

	if (!target)
		return -EINVAL;
	if (!atomic_op_is_plain(op)) {
		old = atomic64_read(target);
		while (!atomic64_try_cmpxchg(target, &old, atomic_op_result(op, old)))
			;
	} else if (op->cmp_swap) {
		old = atomic64_cmpxchg(target, op->compare, op->swap_add);
	} else {
		old = atomic64_fetch_add(op->swap_add, target);
	}
	*orig = old;
	return 0;
}
