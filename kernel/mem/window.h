/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows. */
#ifndef TERN_MEM_WINDOW_H
#define TERN_MEM_WINDOW_H

#include <rdma/ib_verbs.h>

#include "mem/region.h"

struct tern_keys;
struct tern_mem_ctx;

struct tern_mw {
	struct ib_mw ibmw;
	struct tern_region *region;
};

/* Unbound. May sleep. ERR_PTR. */
struct tern_region *tern_region_alloc_mw(struct tern_keys *keys, struct ib_pd *pd, bool type2);

/* Unbind, unpublish, wait for spans, free. Sleeps. */
void tern_window_destroy(struct tern_keys *keys, struct tern_region *window);

/* BIND_MW: 0 or -EINVAL/-EACCES/-ERANGE. Any context up to softirq; the caller holds no span. */
int tern_mem_bind(struct tern_mem_ctx *ctx, u32 mw_rkey, u32 new_rkey, u32 mr_lkey,
		  u64 addr, u64 length, u32 access);

/*
 * A QP is being destroyed and executes nothing any more. Type 2 windows bound through it become
 * FREE (IBTA 10.6.7). Sleeps.
 */
void tern_mem_unbind_qp(struct tern_mem_ctx *ctx);

/* ---- among the files of mem/ ---- */

/*
 * Ends a window's binding, under its lock, and sets state (not VALID). Returns the MR, or NULL. It
 * stays bound until the window's spans are gone.
 */
struct tern_region *tern_window_unbind_locked(struct tern_keys *keys, struct tern_region *window,
					      enum tern_region_state state);
/* After the spans are gone. mr may be NULL. */
static inline void tern_window_drop_mr(struct tern_region *mr)
{
	if (mr)
		atomic_dec(&mr->bound_windows);
}

#endif
