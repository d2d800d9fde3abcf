// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles. A UD work request uses struct tern_av, found by index under
 * RCU. It outlives its AH by a grace period, so it holds a reference of its own
 * on the source GID (pd.c waits for the last of them).
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "charged.h"
#include "core/av.h"
#include "core/device.h"
#include "core/transport.h"
#include "tern-abi.h"
#include "verbs/ah.h"
#include "verbs/pd.h"
#include "verbs/udata.h"

static void av_free(struct tern_av *av)
{
	rdma_put_gid_attr(av->attr.grh.sgid_attr);
	kfree(av);
}

static void av_free_rcu(struct rcu_head *rcu)
{
	av_free(container_of(rcu, struct tern_av, rcu));
}

/* Reserve an index. Readers find nothing there yet. */
static int av_reserve(struct tern_dev *dev, struct tern_av *av, gfp_t gfp)
{
	unsigned long irq;
	int err;

	xa_lock_irqsave(&dev->ahs, irq);
	err = __xa_alloc_cyclic(&dev->ahs, &av->index, NULL,
				XA_LIMIT(1, dev->transport->limits->max_ah), &dev->next_ah, gfp);
	xa_unlock_irqrestore(&dev->ahs, irq);
	if (err < 0)
		return err == -EBUSY ? -ENOMEM : err;
	return 0;
}

static void av_publish(struct tern_dev *dev, struct tern_av *av)
{
	unsigned long irq;

	/* The index is reserved: no memory is needed. */
	xa_lock_irqsave(&dev->ahs, irq);
	__xa_store(&dev->ahs, av->index, av, GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ahs, irq);
}

static void av_unpublish(struct tern_dev *dev, u32 index)
{
	unsigned long irq;

	xa_lock_irqsave(&dev->ahs, irq);
	__xa_erase(&dev->ahs, index);
	xa_unlock_irqrestore(&dev->ahs, irq);
}

int tern_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	bool sleepable = init->flags & RDMA_CREATE_AH_SLEEPABLE;
	struct tern_dev *dev = to_tern_dev(ibah->device);
	const struct rdma_ah_attr *attr = init->ah_attr;
	gfp_t gfp = sleepable ? TERN_GFP_CHARGED : GFP_ATOMIC | __GFP_NOWARN;
	struct tern_create_ah_resp resp = {};
	struct tern_av *av;
	int err;

	err = tern_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	if (rdma_ah_get_port_num(attr) != 1 || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    !attr->grh.sgid_attr || rdma_ah_get_sl(attr) > 15)
		return -EINVAL;

	av = kzalloc(sizeof(*av), gfp);
	if (!av)
		return -ENOMEM;
	av->pd = ibah->pd;
	av->attr = *attr;
	rdma_hold_gid_attr(attr->grh.sgid_attr);

	err = dev->transport->ah_init(dev, av, sleepable);
	if (err)
		goto free;
	err = av_reserve(dev, av, gfp);
	if (err)
		goto free;
	if (udata) {
		resp.ah = av->index;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto unpublish;
	}
	to_tern_ah(ibah)->av = av;
	av_publish(dev, av);
	return 0;

unpublish:
	av_unpublish(dev, av->index);
free:
	av_free(av);
	return err;
}

int tern_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_tern_ah(ibah)->av->attr;
	attr->grh.sgid_attr = NULL;	/* no reference is handed out */
	return 0;
}

int tern_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct tern_av *av = to_tern_ah(ibah)->av;

	WRITE_ONCE(to_tern_pd(ibah->pd)->ahs_freed, true);
	av_unpublish(to_tern_dev(ibah->device), av->index);
	call_rcu(&av->rcu, av_free_rcu);
	return 0;
}
