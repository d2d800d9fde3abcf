/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TERN_COMPAT_RDMA_RDMA_CM_H
#define TERN_COMPAT_RDMA_RDMA_CM_H

#include <linux/version.h>
#include_next <rdma/rdma_cm.h>

/* rdma_cm finds an iWARP device by its netdev's hardware address; from 6.5 on by the netdev. */
#define TERN_RDMA_CM_GOES_BY_ADDRESS	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0))

#endif
