/* SPDX-License-Identifier: GPL-2.0 */
/* The identity under which memory is accessed. */
#ifndef TERN_MEM_CTX_H
#define TERN_MEM_CTX_H

#include <linux/list.h>
#include <linux/types.h>

struct ib_pd;
struct tern_keys;

/* PD and (for type 2 windows) QP must match the key's. */
struct tern_mem_ctx {
	struct tern_keys *keys;
	const struct ib_pd *pd;
	u32 qpn;
	struct list_head bound;	/* type 2 windows, under keys->bound_lock */
};

static inline void tern_mem_ctx_init(struct tern_mem_ctx *ctx, struct tern_keys *keys,
				     const struct ib_pd *pd, u32 qpn)
{
	ctx->keys = keys;
	ctx->pd = pd;
	ctx->qpn = qpn;
	INIT_LIST_HEAD(&ctx->bound);
}

#endif
