/* SPDX-License-Identifier: GPL-2.0 */
/* Port counters for `rdma statistic show` and sysfs: sums of the per-CPU ones. */
#ifndef TERN_VERBS_STATS_H
#define TERN_VERBS_STATS_H

#include <rdma/ib_verbs.h>

#include "core/stats.h"

struct tern_dev;

/* The counter, summed over all CPUs. Any context. */
u64 tern_stat(const struct tern_dev *dev, enum tern_counter counter);
struct rdma_hw_stats *tern_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int tern_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

#endif
