// SPDX-License-Identifier: GPL-2.0
/*
 * Counters for `rdma statistic` and sysfs: the port's, and those of QPs that are bound to a set
 * of their own (`rdma statistic qp`). ib_core decides which QPs, and adds up what it shows of the
 * port.
 */
#include <linux/mutex.h>

#include "core/qp.h"
#include "verbs/stats.h"

static const struct rdma_stat_desc counter_descs[] = {
#define COUNTER_DESC(id, shown) [TERN_CNT_##id] = { .name = shown },
	TERN_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
#define COUNTER_DESC(id, shown) [TERN_CNT_##id] = { .name = shown, .flags = IB_STAT_FLAG_OPTIONAL },
	TERN_OPTIONAL_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

/* Hide the optional counters that are off. */
static void hide_stats(struct rdma_hw_stats *stats, const struct tern_dev *dev)
{
	int i;

	for (i = TERN_CNT_FIRST_OPTIONAL; i < TERN_CNT_MAX; i++)
		assign_bit(i, stats->is_disabled, !tern_stats_is_on(dev, i));
}

static struct rdma_hw_stats *alloc_stats(const struct tern_dev *dev)
{
	struct rdma_hw_stats *stats = rdma_alloc_hw_stats_struct(counter_descs, TERN_CNT_MAX,
								 RDMA_HW_STATS_DEFAULT_LIFESPAN);

	if (stats)
		hide_stats(stats, dev);
	return stats;
}

static void fill_stats(struct rdma_hw_stats *stats, const struct tern_stats __percpu *from)
{
	int i;

	for (i = 0; i < TERN_CNT_MAX; i++)
		stats->value[i] = tern_stats_sum(from, i);
}

/* ---- the port's ---- */

struct rdma_hw_stats *tern_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return alloc_stats(to_tern_dev(ibdev));
}

/* ib_core has looked whether it is an optional one, and changes what is shown. */
int tern_modify_hw_stat(struct ib_device *ibdev, u32 port, unsigned int index, bool enable)
{
	tern_stats_enable(to_tern_dev(ibdev), index, enable);
	return 0;
}

int tern_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	if (port != 1)
		return -EINVAL;
	fill_stats(stats, to_tern_dev(ibdev)->stats);
	return TERN_CNT_MAX;
}

/* ---- those of QPs ---- */

struct rdma_hw_stats *tern_counter_alloc_stats(struct rdma_counter *counter)
{
	return alloc_stats(to_tern_dev(counter->device));
}

int tern_counter_update_stats(struct rdma_counter *counter)
{
	const struct tern_stats __percpu *from =
		tern_stats_of_set(to_tern_dev(counter->device), counter->id);

	if (!from)
		return -EINVAL;
	fill_stats(counter->stats, from);
	hide_stats(counter->stats, to_tern_dev(counter->device));
	return 0;
}

/* One of them after the other: ib_core does not see to that for one QP and two counters. */
static int change_counter(struct ib_qp *ibqp, struct rdma_counter *counter)
{
	struct mutex *lock = &to_tern_ibqp(ibqp)->modify_lock;
	struct tern_qp *qp = tern_qp_hold(ibqp);
	int err = -EINVAL;

	mutex_lock(lock);
	if (!ibqp->counter == !counter)
		goto unlock;
	/* Of a QP that is destroyed nothing is counted any more. */
	if (qp)
		err = tern_qp_bind_stats(qp, counter ? counter->id : 0);
	else if (!counter)
		err = 0;
	if (!err)
		ibqp->counter = counter;
unlock:
	mutex_unlock(lock);
	if (qp)
		tern_qp_put(qp);
	return err;
}

int tern_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	struct tern_dev *dev = to_tern_dev(counter->device);
	bool first = !counter->id;
	int err;

	if (first) {
		err = tern_stats_set_create(dev, &counter->id);
		if (err)
			return err;
	}
	err = change_counter(ibqp, counter);
	if (err && first) {
		tern_stats_set_destroy(dev, counter->id);
		counter->id = 0;
	}
	return err;
}

int tern_counter_unbind_qp(struct ib_qp *ibqp)
{
	return change_counter(ibqp, NULL);
}

int tern_counter_dealloc(struct rdma_counter *counter)
{
	tern_stats_set_destroy(to_tern_dev(counter->device), counter->id);
	return 0;
}
