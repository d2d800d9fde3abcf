/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A RoCE device's own files in /sys/class/infiniband/DEV/.
 */
#ifndef TERN_ROCE_WIRE_SYSFS_H
#define TERN_ROCE_WIRE_SYSFS_H

#include <rdma/ib_verbs.h>

/* The attributes of a RoCE device. */
extern const struct ib_device_ops roce_dev_ops;

#endif
