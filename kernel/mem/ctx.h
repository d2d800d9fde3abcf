/* SPDX-License-Identifier: GPL-2.0 */
/* The identity under which memory is accessed. */
#ifndef TERN_MEM_CTX_H
#define TERN_MEM_CTX_H

#include <linux/list.h>
#include <linux/types.h>

struct ib_pd;
struct tern_keys;
struct tern_region;

enum tern_fault_state {
	TERN_FAULT_NONE,
	TERN_FAULT_WANTED,	/* noted by an access; its QP has them brought in */
	TERN_FAULT_BUSY,	/* being brought in, by a thread */
	TERN_FAULT_FORGOTTEN,	/* the same, and no access comes for it */
	TERN_FAULT_FAILED,	/* they cannot be had: the access that comes again fails */
};

/*
 * Pages on demand that an access of a QP did not find. All is under the QP's run lock, except while
 * the thread is busy, which ends that with a release.
 */
struct tern_fault {
	u32 state;		/* enum tern_fault_state */
	bool write;
	u32 key;		/* of the region, not of a window on it */
	u64 addr;		/* in its owner's address space */
	u64 length;		/* bytes that the access must have */
	u64 more;		/* behind them, that its request will touch: if they can be had */
	struct tern_region *region;	/* BUSY: referenced */
};

/* PD and (for type 2 windows) QP must match the key's. */
struct tern_mem_ctx {
	struct tern_keys *keys;
	const struct ib_pd *pd;
	u32 qpn;
	struct list_head bound;	/* type 2 windows, under keys->bound_lock */
	struct tern_fault *fault;
};

static inline void tern_mem_ctx_init(struct tern_mem_ctx *ctx, struct tern_keys *keys,
				     const struct ib_pd *pd, u32 qpn, struct tern_fault *fault)
{
	ctx->keys = keys;
	ctx->pd = pd;
	ctx->qpn = qpn;
	INIT_LIST_HEAD(&ctx->bound);
	ctx->fault = fault;
}

#endif
