// SPDX-License-Identifier: GPL-2.0
/*
 * Invalidation of a key, by LOCAL_INV or by a peer's SEND with invalidate: fast
 * registrations and type 2 windows become free. It returns only when no span
 * obtained by the key is left.
 */
#include "mem/ctx.h"
#include "mem/invalidate.h"
#include "mem/keys.h"
#include "mem/region.h"
#include "mem/window.h"

static int may_invalidate(const struct tern_mem_ctx *ctx, const struct tern_region *region, u32 key,
			  bool remote)
{
	if (region->state == TERN_REGION_DEAD || region->key != key)
		return -EINVAL;
	if (region->pd != ctx->pd)
		return -EACCES;

	switch ((enum tern_region_kind)region->kind) {
	case TERN_REGION_FAST:
		/* A peer may invalidate only what a peer was given. */
		if (remote && region->state == TERN_REGION_VALID &&
		    !(region->access & TERN_ACCESS_REMOTE))
			return -EACCES;
		return atomic_read(&region->bound_windows) ? -EACCES : 0;
	case TERN_REGION_MW2:
		if (region->state == TERN_REGION_VALID && region->bound_qpn != ctx->qpn)
			return -EACCES;
		return 0;
	case TERN_REGION_USER:
	case TERN_REGION_ODP:
	case TERN_REGION_DMA:
	case TERN_REGION_MAPPED:
	case TERN_REGION_MW1:				/* IBTA o10-37.2.26 */
		break;
	}
	return -EACCES;
}

static int invalidate_region(const struct tern_mem_ctx *ctx, struct tern_region *region, u32 key,
			     bool remote)
{
	struct tern_region *mr = NULL;
	unsigned long irq;
	int err;

	spin_lock_irqsave(&region->lock, irq);
	err = may_invalidate(ctx, region, key, remote);
	if (!err && tern_region_is_window(region))
		mr = tern_window_unbind_locked(ctx->keys, region, TERN_REGION_CLOSING);
	else if (!err)
		region->state = TERN_REGION_CLOSING;
	spin_unlock_irqrestore(&region->lock, irq);
	if (err)
		return err;

	tern_region_close(region);
	tern_window_drop_mr(mr);
	return 0;
}

int tern_mem_invalidate(const struct tern_mem_ctx *ctx, u32 key, bool remote)
{
	struct tern_region *region;
	int err = -EINVAL;

	rcu_read_lock();
	region = tern_key_lookup(ctx->keys, key);
	if (region)
		err = invalidate_region(ctx, region, key, remote);
	rcu_read_unlock();
	return err;
}
