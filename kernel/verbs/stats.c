// SPDX-License-Identifier: GPL-2.0
/*
 * Port counters for `rdma statistic show` and sysfs: sums of the per-CPU ones.
 */
#include <linux/cpumask.h>

#include "verbs/stats.h"

static const struct rdma_stat_desc counter_descs[] = {
#define COUNTER_DESC(id, shown) [TERN_CNT_##id] = { .name = shown },
	TERN_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

struct rdma_hw_stats *tern_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(counter_descs, TERN_CNT_MAX,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

u64 tern_stat(const struct tern_dev *dev, enum tern_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->v[counter]);
	return sum;
}

int tern_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	int i;

	if (port != 1)
		return -EINVAL;
	for (i = 0; i < TERN_CNT_MAX; i++)
		stats->value[i] = tern_stat(to_tern_dev(ibdev), i);
	return TERN_CNT_MAX;
}
