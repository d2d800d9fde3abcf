/* SPDX-License-Identifier: GPL-2.0 */
/* Gather/scatter lists: from an offset in a message to an SGE and its span. Context: as span.h. */
#ifndef TERN_MEM_SGL_H
#define TERN_MEM_SGL_H

#include <linux/compiler.h>
#include <rdma/ib_verbs.h>

#include "mem/span.h"
#include "tern-abi.h"

/*
 * A gather/scatter list, walked mostly forwards. It caches its current SGE and that one's span.
 * begin and end are called within one batch. begin takes all of the list for touched in the end:
 * memory on demand is brought in for it. A caller that knows better sets `until`.
 */
struct tern_sgl {
	const struct tern_mem_ctx *ctx;
	const struct tern_sge *sge;
	u32 num_sge;
	u32 need;		/* IB_ACCESS_LOCAL_WRITE for scatter, 0 for gather */
	u32 cur;		/* SGE of the cached span; num_sge: none */
	u64 cur_base;		/* offset of that SGE in the message */
	u64 until;		/* where in the message what is known to be touched ends */
	struct tern_span span;
};

void tern_sgl_begin(struct tern_sgl *sgl, const struct tern_mem_ctx *ctx,
		    const struct tern_sge *sge, u32 num_sge, u32 need);
void tern_sgl_end(struct tern_sgl *sgl);
/* 0, or tern_span_get()'s errors; -ERANGE past the end of the list. */
int tern_sgl_write(struct tern_sgl *sgl, u64 off, const void *src, size_t n);
int tern_sgl_read(struct tern_sgl *sgl, u64 off, void *dst, size_t n);
/* As tern_span_walk(), or those errors. Without fn: only checks that it may be read. */
int tern_sgl_walk(struct tern_sgl *sgl, u64 off, size_t n, tern_mem_fn fn, void *arg);

/* tern_sges_write() and _read() for lists that need a walk. */
int tern_sges_walk_write(const struct tern_mem_ctx *ctx, const struct tern_sge *sge, u32 num_sge,
			 u64 off, const void *src, size_t n);
int tern_sges_walk_read(const struct tern_mem_ctx *ctx, const struct tern_sge *sge, u32 num_sge,
			u64 off, void *dst, size_t n);

/*
 * One access to a list: begin, write or read, end. As there, the rights of an SGE are checked for
 * all of it. Most lists have a single SGE.
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

#endif
