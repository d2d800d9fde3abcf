// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles. A UD work request uses struct tern_av, found by index under
 * RCU; a modified AH has another. It outlives its AH by a grace period, so it
 * holds a reference of its own on the source GID (pd.c waits for the last of them).
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

static gfp_t gfp_of(bool sleepable)
{
	return sleepable ? TERN_GFP_CHARGED : GFP_ATOMIC | __GFP_NOWARN;
}

/* A vector that nobody finds yet, or an ERR_PTR. */
static struct tern_av *av_make(const struct ib_ah *ibah, const struct rdma_ah_attr *attr,
			       bool sleepable)
{
	struct tern_dev *dev = to_tern_dev(ibah->device);
	struct tern_av *av;
	int err;

	if (rdma_ah_get_port_num(attr) != 1 || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    !attr->grh.sgid_attr || rdma_ah_get_sl(attr) > 15)
		return ERR_PTR(-EINVAL);

	av = kzalloc(sizeof(*av), gfp_of(sleepable));
	if (!av)
		return ERR_PTR(-ENOMEM);
	av->pd = ibah->pd;
	av->attr = *attr;
	rdma_hold_gid_attr(attr->grh.sgid_attr);

	err = dev->transport->ah_init(dev, av, sleepable);
	if (err) {
		av_free(av);
		return ERR_PTR(err);
	}
	return av;
}

/* Reserve an index. Readers find nothing there yet. */
static int index_reserve(struct tern_dev *dev, u32 *index, gfp_t gfp)
{
	unsigned long irq;
	int err;

	xa_lock_irqsave(&dev->ahs, irq);
	err = __xa_alloc_cyclic(&dev->ahs, index, NULL,
				XA_LIMIT(1, dev->transport->limits->max_ah), &dev->next_ah, gfp);
	xa_unlock_irqrestore(&dev->ahs, irq);
	if (err < 0)
		return err == -EBUSY ? -ENOMEM : err;
	return 0;
}

/* The index is reserved or has a vector: no memory is needed. Returns what was there. */
static struct tern_av *av_publish(struct tern_dev *dev, u32 index, struct tern_av *av)
{
	struct tern_av *old;
	unsigned long irq;

	xa_lock_irqsave(&dev->ahs, irq);
	old = __xa_store(&dev->ahs, index, av, GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ahs, irq);
	return old;
}

static struct tern_av *index_free(struct tern_dev *dev, u32 index)
{
	struct tern_av *old;
	unsigned long irq;

	xa_lock_irqsave(&dev->ahs, irq);
	old = __xa_erase(&dev->ahs, index);
	xa_unlock_irqrestore(&dev->ahs, irq);
	return old;
}

/* Readers may have found it. */
static void av_retire(struct ib_ah *ibah, struct tern_av *av)
{
	WRITE_ONCE(to_tern_pd(ibah->pd)->ahs_freed, true);
	call_rcu(&av->rcu, av_free_rcu);
}

int tern_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	bool sleepable = init->flags & RDMA_CREATE_AH_SLEEPABLE;
	struct tern_dev *dev = to_tern_dev(ibah->device);
	struct tern_create_ah_resp resp = {};
	struct tern_ah *ah = to_tern_ah(ibah);
	struct tern_av *av;
	int err;

	err = tern_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	av = av_make(ibah, init->ah_attr, sleepable);
	if (IS_ERR(av))
		return PTR_ERR(av);
	err = index_reserve(dev, &ah->index, gfp_of(sleepable));
	if (err)
		goto free;
	if (udata) {
		resp.ah = ah->index;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto free_index;
	}
	av_publish(dev, ah->index, av);
	return 0;

free_index:
	index_free(dev, ah->index);
free:
	av_free(av);
	return err;
}

/* Of kernel consumers, from any context. What was posted before may go either way. */
int tern_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct tern_av *av = av_make(ibah, attr, false);

	if (IS_ERR(av))
		return PTR_ERR(av);
	av_retire(ibah, av_publish(to_tern_dev(ibah->device), to_tern_ah(ibah)->index, av));
	return 0;
}

int tern_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct tern_av *av;

	rcu_read_lock();
	av = xa_load(&to_tern_dev(ibah->device)->ahs, to_tern_ah(ibah)->index);
	*attr = av->attr;
	rcu_read_unlock();
	attr->grh.sgid_attr = NULL;	/* no reference is handed out */
	return 0;
}

int tern_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	av_retire(ibah, index_free(to_tern_dev(ibah->device), to_tern_ah(ibah)->index));
	return 0;
}
