/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spans: the only way to registered memory. One resolves a (key, address, length)
 * under checks; then it is copied to and from, walked, or changed atomically. All
 * checks of iova + length for overflow are in mem/.
 *
 * A resolved span holds a reference, so that dereg waits. Spans live no longer
 * than one batch of work (softirq or doorbell), never across a wait.
 *
 * Invalidation, rebinding and unbinding take rights away and then spin until
 * no span that was obtained under those rights is left, because their completion
 * tells the consumer that the memory is its own again. Sleeping is impossible
 * there, so spans obey three rules. They are held with BHs (or IRQs) disabled. Their
 * holder waits for nothing. A caller of tern_mem_invalidate(), _bind() or
 * _unbind_qp() holds no span. Lockdep checks the last two (region.h).
 *
 * Context: any up to softirq; nothing sleeps.
 */
#ifndef TERN_MEM_SPAN_H
#define TERN_MEM_SPAN_H

#include <linux/types.h>

#include "proto/atomic.h"

struct tern_mem_ctx;
struct tern_region;

struct tern_span {
	struct tern_region *region;	/* NULL: no bytes, or the null region; nothing held */
	struct tern_region *window;	/* the window used, or NULL */
	u64 off;			/* of the span's first byte in blocks: block_off included */
	u64 length;
	void *kva;			/* DMA regions: address of the first byte */
};

/*
 * Resolve. need: IB_ACCESS_{LOCAL_WRITE,REMOTE_WRITE,REMOTE_READ,REMOTE_ATOMIC,FLUSH_*}
 * bits that the key must grant (0: local read; DMA regions and local access use
 * the lkey). length 0 succeeds without looking at the key (IBTA C9-88).
 * TERN_NULL_LKEY grants local access to nothing: reads give zeros, writes are dropped.
 * 0, -EACCES (rights, state), -EPERM (another PD's, or QP's), -EINVAL (no such key),
 * -ERANGE (bounds), -EAGAIN (on demand: not now).
 * On 0 the caller owes a tern_span_put().
 */
int tern_span_get(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
		  struct tern_span *span);
/* The same, of all that the key names. */
int tern_span_get_region(const struct tern_mem_ctx *ctx, u32 key, u32 need, struct tern_span *span);
void tern_span_put(struct tern_span *span);

/*
 * Before [off, off + n) of a span is touched: are its pages there? more: bytes of the span behind
 * them that are touched next. need: as above. 0, always except of memory on demand; -EAGAIN: not
 * now, the access ends without effect; -EFAULT: they cannot be had. core/fault.h says what to do
 * after -EAGAIN.
 */
int tern_span_present(const struct tern_mem_ctx *ctx, const struct tern_span *span, u64 off, u64 n,
		      u64 more, u32 need);

/*
 * Would these bytes, which are present, survive a loss of power if they were written back? Of a key
 * that grants IB_ACCESS_FLUSH_PERSISTENT: yes, unless it is on demand.
 */
bool tern_span_is_persistent(const struct tern_span *span, u64 off, u64 n);

/*
 * The caller ensures off + n <= span->length (otherwise WARN_ON_ONCE and clipped), and that these
 * bytes are present. Others see the last byte written only after the rest, and after all that this
 * CPU wrote before.
 */
void tern_span_write(const struct tern_span *span, u64 off, const void *src, size_t n);
void tern_span_read(const struct tern_span *span, u64 off, void *dst, size_t n);
/*
 * One access to [off, off + n) of the range, without keeping a span: get, present, write or read,
 * put. The rest of the range is touched next. Also -ERANGE if [off, off + n) is not within the
 * range.
 */
int tern_span_write_once(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
			 u64 off, const void *src, size_t n);
int tern_span_read_once(const struct tern_mem_ctx *ctx, u32 key, u64 va, u64 length, u32 need,
			u64 off, void *dst, size_t n);
/*
 * Calls fn(arg, p, n) for each contiguous piece of [off, off + n), in order, until one returns
 * other than 0. That value is returned.
 */
typedef int (*tern_mem_fn)(void *arg, const void *p, size_t n);
int tern_span_walk(const struct tern_span *span, u64 off, size_t n, tern_mem_fn fn, void *arg);
/*
 * Store the span's first 8 bytes at once, behind all earlier writes. Aligned, or -EINVAL; present.
 */
int tern_span_store(const struct tern_span *span, u64 value);
/* 8-byte aligned, or -EINVAL. Present. Atomic against the CPU's own 64-bit atomics. */
int tern_span_atomic(const struct tern_span *span, const struct atomic_op *op, u64 *orig);

#endif
