// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: rights to a part of a region. Type 1 may be bound again at
 * any time; type 2 (2B: tied to the QP that bound it) only when free. A bound
 * window holds its MR by bound_windows. Lock order: window, then its MR or
 * bound_lock.
 */
#include <linux/err.h>
#include <linux/sched.h>

#include "mem/bounds.h"
#include "mem/ctx.h"
#include "mem/keys.h"
#include "mem/region.h"
#include "mem/window.h"

struct window_bind {
	u32 mw_rkey;
	u32 new_rkey;
	u32 mr_lkey;
	u32 access;
	u64 addr;
	u64 length;
};

struct tern_region *tern_region_alloc_mw(struct tern_keys *keys, struct ib_pd *pd, bool type2)
{
	struct tern_region *window;

	window = tern_region_create(keys, pd, type2 ? TERN_REGION_MW2 : TERN_REGION_MW1);
	if (!IS_ERR(window))
		tern_key_publish(keys, window);
	return window;
}

struct tern_region *tern_window_unbind_locked(struct tern_keys *keys, struct tern_region *window,
					      enum tern_region_state state)
{
	struct tern_region *mr = window->mr;

	if (mr && window->kind == TERN_REGION_MW2) {
		spin_lock(&keys->bound_lock);
		list_del(&window->bound_node);
		spin_unlock(&keys->bound_lock);
	}
	window->mr = NULL;
	window->access = 0;
	window->state = state;
	return mr;
}

static int window_may_bind(const struct tern_mem_ctx *ctx, const struct tern_region *window,
			   const struct window_bind *bind)
{
	if (window->state == TERN_REGION_DEAD || window->state == TERN_REGION_CLOSING ||
	    window->key != bind->mw_rkey)
		return -EINVAL;
	if (bind->mw_rkey >> 8 != bind->new_rkey >> 8 ||
	    bind->access & ~(TERN_ACCESS_REMOTE | IB_ZERO_BASED))
		return -EINVAL;
	if (window->pd != ctx->pd)			/* IBTA C10-72 */
		return -EACCES;
	if (window->kind == TERN_REGION_MW1)		/* IBTA o10-36.2.2 */
		return bind->access & IB_ZERO_BASED ? -EINVAL : 0;
	if (window->state != TERN_REGION_FREE)		/* IBTA o10-37.2.30 */
		return -EINVAL;
	return bind->length ? 0 : -EINVAL;		/* IBTA o10-37.2.40 */
}

static int mr_may_be_bound(const struct tern_region *window, const struct tern_region *mr,
			   const struct window_bind *bind)
{
	if (mr->state != TERN_REGION_VALID || mr->key != bind->mr_lkey)
		return -EINVAL;
	if (mr->pd != window->pd)
		return -EACCES;
	if (!(mr->access & IB_ACCESS_MW_BIND))		/* IBTA C10-73 */
		return -EACCES;
	if (bind->access & TERN_ACCESS_ALTERS &&	/* IBTA C10-74 */
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;
	if (!mem_range_within(mr->iova, mr->length, bind->addr, bind->length))
		return -ERANGE;				/* IBTA C10-75 */
	return 0;
}

/*
 * Counts the window in, so that the MR does not change. *bound: on entry the region found by the
 * key, on return the one that replaced it, if it was re-registered just now.
 */
static int mr_bind(const struct tern_region *window, struct tern_region **bound,
		   const struct window_bind *bind)
{
	struct tern_region *mr = *bound, *instead;
	int err;

	if (!mr || mr->kind == TERN_REGION_DMA || tern_region_is_window(mr))
		return -EINVAL;

	for (;; mr = instead) {
		spin_lock_nested(&mr->lock, SINGLE_DEPTH_NESTING);
		instead = mr->instead;
		err = mr_may_be_bound(window, mr, bind);
		if (!err)
			atomic_inc(&mr->bound_windows);
		spin_unlock(&mr->lock);
		if (!instead)
			break;
	}
	*bound = mr;
	return err;
}

/* window->lock held; the window is not bound. mr is counted in. NULL: the window stays unbound. */
static void window_bind_locked(struct tern_mem_ctx *ctx, struct tern_region *window,
			       struct tern_region *mr, const struct window_bind *bind)
{
	WRITE_ONCE(window->key, bind->new_rkey);
	if (!mr)
		return;

	window->mr = mr;
	window->access = bind->access;
	window->iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	window->length = bind->length;
	window->block_off = mr->block_off + (bind->addr - mr->iova);
	window->bound_qpn = ctx->qpn;
	if (window->kind == TERN_REGION_MW2) {
		spin_lock(&ctx->keys->bound_lock);
		list_add_tail(&window->bound_node, &ctx->bound);
		spin_unlock(&ctx->keys->bound_lock);
	}
	window->state = TERN_REGION_VALID;
}

static int window_bind(struct tern_mem_ctx *ctx, struct tern_region *window,
		       const struct window_bind *bind)
{
	struct tern_region *mr = NULL, *old;
	unsigned long irq;
	int err;

	spin_lock_irqsave(&window->lock, irq);
	err = window_may_bind(ctx, window, bind);
	if (!err && bind->length) {
		mr = tern_key_lookup(ctx->keys, bind->mr_lkey);
		err = mr_bind(window, &mr, bind);
		if (err)
			mr = NULL;
	}
	while (!err && window->mr) {
		/*
		 * Wait for the old binding's last span, so that no span of the new one comes
		 * before.
		 */
		old = tern_window_unbind_locked(ctx->keys, window, TERN_REGION_CLOSING);
		spin_unlock_irqrestore(&window->lock, irq);
		tern_region_close(window);
		tern_window_drop_mr(old);
		spin_lock_irqsave(&window->lock, irq);
		err = window_may_bind(ctx, window, bind);
	}
	if (!err)
		window_bind_locked(ctx, window, mr, bind);
	else
		tern_window_drop_mr(mr);
	spin_unlock_irqrestore(&window->lock, irq);
	return err;
}

int tern_mem_bind(struct tern_mem_ctx *ctx, u32 mw_rkey, u32 new_rkey, u32 mr_lkey,
		  u64 addr, u64 length, u32 access)
{
	const struct window_bind bind = {
		.mw_rkey = mw_rkey,
		.new_rkey = new_rkey,
		.mr_lkey = mr_lkey,
		.access = access,
		.addr = addr,
		.length = length,
	};
	struct tern_region *window;
	int err = -EINVAL;

	rcu_read_lock();
	window = tern_key_lookup(ctx->keys, mw_rkey);
	if (window && tern_region_is_window(window))
		err = window_bind(ctx, window, &bind);
	rcu_read_unlock();
	return err;
}

void tern_window_destroy(struct tern_keys *keys, struct tern_region *window)
{
	struct tern_region *mr;
	unsigned long irq;

	spin_lock_irqsave(&window->lock, irq);
	mr = tern_window_unbind_locked(keys, window, TERN_REGION_DEAD);
	spin_unlock_irqrestore(&window->lock, irq);

	tern_key_release(keys, window->key);
	tern_region_drain(window);
	tern_window_drop_mr(mr);
	tern_region_free(window);
}

static struct tern_region *first_bound(struct tern_mem_ctx *ctx)
{
	struct tern_region *window;
	unsigned long irq;

	spin_lock_irqsave(&ctx->keys->bound_lock, irq);
	window = list_first_entry_or_null(&ctx->bound, struct tern_region, bound_node);
	spin_unlock_irqrestore(&ctx->keys->bound_lock, irq);
	return window;
}

/* Does nothing if the window's owner was faster. Under RCU. */
static void window_unbind_qp(struct tern_mem_ctx *ctx, struct tern_region *window)
{
	struct tern_region *mr = NULL;
	unsigned long irq;

	spin_lock_irqsave(&window->lock, irq);
	if (window->state == TERN_REGION_VALID && window->bound_qpn == ctx->qpn)
		mr = tern_window_unbind_locked(ctx->keys, window, TERN_REGION_CLOSING);
	spin_unlock_irqrestore(&window->lock, irq);

	if (mr) {
		tern_region_close(window);
		tern_window_drop_mr(mr);
	}
}

void tern_mem_unbind_qp(struct tern_mem_ctx *ctx)
{
	struct tern_region *window;

	do {
		rcu_read_lock();
		window = first_bound(ctx);
		if (window)
			window_unbind_qp(ctx, window);
		rcu_read_unlock();
		cond_resched();
	} while (window);
}
