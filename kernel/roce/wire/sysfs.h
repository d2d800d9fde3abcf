/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A RoCE device's own files in /sys/class/infiniband/DEV/.
 */
#ifndef TERN_ROCE_WIRE_SYSFS_H
#define TERN_ROCE_WIRE_SYSFS_H

#include <rdma/ib_verbs.h>

#include "core/device.h"

/* The attributes of a RoCE device. */
extern const struct ib_device_ops roce_dev_ops;

/* The transport's operations (core/transport.h). The controllers are those of proto/cc.h. */
void roce_congestion_show(struct tern_dev *dev, char *name);
int roce_congestion_set(struct tern_dev *dev, const char *name);

#endif
