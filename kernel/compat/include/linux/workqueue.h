/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workqueues whose work runs on the CPU that queued it are to say so to newer kernels, and
 * to late releases of 6.12. To others that goes without saying.
 */
#ifndef TERN_COMPAT_LINUX_WORKQUEUE_H
#define TERN_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

#include <linux/version.h>

/* The value of the enum, where there is one; else a bit that no kernel looks at. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define WQ_PERCPU (1 << 8)
#endif

#endif
