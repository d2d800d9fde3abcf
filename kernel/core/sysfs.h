/* SPDX-License-Identifier: GPL-2.0 */
/* A device's files in /sys/class/infiniband/DEV/ that are not its transport's. */
#ifndef TERN_CORE_SYSFS_H
#define TERN_CORE_SYSFS_H

#include <linux/device.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"

static inline struct tern_dev *tern_dev_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct tern_dev, ibdev);
}

/* For the device_group of each transport. */
#define TERN_DEV_ATTRS				\
	&tern_attr_board_id.attr,		\
	&tern_attr_congestion_control.attr,	\
	&tern_attr_hca_type.attr,		\
	&tern_attr_hw_rev.attr,			\
	&tern_attr_peer_timeout.attr
extern struct device_attribute tern_attr_board_id;
extern struct device_attribute tern_attr_congestion_control;
extern struct device_attribute tern_attr_hca_type;
extern struct device_attribute tern_attr_hw_rev;
extern struct device_attribute tern_attr_peer_timeout;

#endif
