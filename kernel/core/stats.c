// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: the device's, and sets of them that QPs are bound to (`rdma statistic qp`). A QP
 * counts in one place only, so that one more set costs nothing: ib_core adds up what it shows.
 * Which QP is bound to which set ib_core decides, by verbs/stats.c.
 */
#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "charged.h"
#include "core/qp.h"
#include "core/stats.h"

DEFINE_STATIC_KEY_FALSE(tern_optional_stats);

/* Others are local: binds, registrations, invalidations. */
static enum tern_counter counter_of_request(u8 opcode)
{
	switch (opcode) {
	case TERN_WR_RDMA_WRITE:
	case TERN_WR_RDMA_WRITE_WITH_IMM:
	case TERN_WR_ATOMIC_WRITE:
		return TERN_CNT_TX_WRITES;
	case TERN_WR_SEND:
	case TERN_WR_SEND_WITH_IMM:
	case TERN_WR_SEND_WITH_INV:
		return TERN_CNT_TX_SENDS;
	case TERN_WR_RDMA_READ:
	case TERN_WR_RDMA_READ_WITH_INV:
		return TERN_CNT_TX_READS;
	case TERN_WR_ATOMIC_CMP_AND_SWP:
	case TERN_WR_ATOMIC_FETCH_AND_ADD:
		return TERN_CNT_TX_ATOMICS;
	case TERN_WR_FLUSH:
		return TERN_CNT_TX_FLUSHES;
	default:
		return TERN_CNT_TX_LOCAL;
	}
}

static void free_device_stats(struct tern_dev *dev)
{
	bitmap_free(dev->optional_stats);
	kfree(dev->past_stats);
	free_percpu(dev->stats);
}

int tern_stats_init(struct tern_dev *dev)
{
	dev->stats = alloc_percpu(struct tern_stats);
	dev->past_stats = kzalloc(sizeof(*dev->past_stats), GFP_KERNEL);
	dev->optional_stats = bitmap_zalloc(TERN_CNT_MAX, GFP_KERNEL);
	if (!dev->stats || !dev->past_stats || !dev->optional_stats) {
		free_device_stats(dev);
		return -ENOMEM;
	}
	mutex_init(&dev->stats_lock);
	xa_init_flags(&dev->stats_sets, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	return 0;
}

static void free_set(struct tern_stats_set *set)
{
	free_percpu(set->stats);
	kfree(set);
}

void tern_stats_uninit(struct tern_dev *dev)
{
	struct tern_stats_set *set;
	unsigned long counter, id;

	/* ib_core forgets one if a QP is bound while it is destroyed. */
	xa_for_each(&dev->stats_sets, id, set)
		free_set(set);
	xa_destroy(&dev->stats_sets);
	for_each_set_bit(counter, dev->optional_stats, TERN_CNT_MAX)
		tern_stats_enable(dev, counter, false);
	free_device_stats(dev);
}

void tern_stats_enable(struct tern_dev *dev, enum tern_counter c, bool on)
{
	if (on) {
		set_bit(c, dev->optional_stats);
		static_branch_inc(&tern_optional_stats);
	} else {
		clear_bit(c, dev->optional_stats);
		static_branch_dec(&tern_optional_stats);
	}
}

void tern_qp_count_request_kind(const struct tern_qp *qp, u8 opcode)
{
	enum tern_counter c = counter_of_request(opcode);

	if (tern_stats_is_on(qp->dev, c))
		tern_qp_count(qp, c);
}

u64 tern_stats_sum(const struct tern_stats __percpu *stats, enum tern_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->v[counter]);
	return sum;
}

u64 tern_stat(struct tern_dev *dev, enum tern_counter counter)
{
	struct tern_stats_set *set;
	unsigned long id;
	u64 sum;

	mutex_lock(&dev->stats_lock);
	sum = tern_stats_sum(dev->stats, counter) + dev->past_stats->v[counter];
	xa_for_each(&dev->stats_sets, id, set) {
		sum += tern_stats_sum(set->stats, counter);
		cond_resched();
	}
	mutex_unlock(&dev->stats_lock);
	return sum;
}

int tern_stats_set_create(struct tern_dev *dev, u32 *id)
{
	struct tern_stats_set *set = kzalloc(sizeof(*set), TERN_GFP_CHARGED);
	int err = -ENOMEM;

	if (!set)
		return err;
	set->stats = alloc_percpu_gfp(struct tern_stats, TERN_GFP_CHARGED);
	if (set->stats)
		err = xa_alloc(&dev->stats_sets, id, set, xa_limit_31b, TERN_GFP_CHARGED);
	if (err)
		free_set(set);
	return err;
}

void tern_stats_set_destroy(struct tern_dev *dev, u32 id)
{
	struct tern_stats_set *set = xa_load(&dev->stats_sets, id);
	int i;

	if (WARN_ON(!set))
		return;
	/* Of contexts that have found their QP bound to it. */
	synchronize_rcu();
	mutex_lock(&dev->stats_lock);
	xa_erase(&dev->stats_sets, id);
	for (i = 0; i < TERN_CNT_MAX; i++)
		dev->past_stats->v[i] += tern_stats_sum(set->stats, i);
	mutex_unlock(&dev->stats_lock);
	free_set(set);
}

const struct tern_stats __percpu *tern_stats_of_set(struct tern_dev *dev, u32 id)
{
	const struct tern_stats_set *set = xa_load(&dev->stats_sets, id);

	return set ? set->stats : NULL;
}

int tern_qp_bind_stats(struct tern_qp *qp, u32 id)
{
	struct tern_stats_set *set = id ? xa_load(&qp->dev->stats_sets, id) : NULL;

	if (id && !set)
		return -EINVAL;
	WRITE_ONCE(qp->stats, set ? set->stats : qp->dev->stats);
	return 0;
}
