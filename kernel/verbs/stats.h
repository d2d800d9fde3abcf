/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters for `rdma statistic` and sysfs: the port's, and those of QPs bound to a set of their
 * own.
 */
#ifndef TERN_VERBS_STATS_H
#define TERN_VERBS_STATS_H

#include <rdma/ib_verbs.h>

#include "core/stats.h"

struct rdma_hw_stats *tern_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int tern_modify_hw_stat(struct ib_device *ibdev, u32 port, unsigned int index, bool enable);
int tern_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

struct rdma_hw_stats *tern_counter_alloc_stats(struct rdma_counter *counter);
int tern_counter_update_stats(struct rdma_counter *counter);
/* counter->lock held. A counter's first QP gives it its number, and its set of counters. */
int tern_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp);
int tern_counter_unbind_qp(struct ib_qp *ibqp);
int tern_counter_dealloc(struct rdma_counter *counter);

#endif
