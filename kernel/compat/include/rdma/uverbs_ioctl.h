/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TERN_COMPAT_RDMA_UVERBS_IOCTL_H
#define TERN_COMPAT_RDMA_UVERBS_IOCTL_H

#include <linux/version.h>
#include_next <rdma/uverbs_ioctl.h>

/* ib_device_ops.create_cq gets the attribute bundle from 6.11 on, before that its udata. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define create_cq_ctx uverbs_attr_bundle
static inline struct ib_udata *create_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define create_cq_ctx ib_udata
static inline struct ib_udata *create_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

#endif
