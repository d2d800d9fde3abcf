/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Newer kernels, and late releases of 6.12, want a flag for workqueues that run
 * work on the CPU that queued it. In others that is the default.
 */
#ifndef TERN_COMPAT_LINUX_WORKQUEUE_H
#define TERN_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

#include <linux/version.h>

/* The enum's value if it exists; otherwise a bit that no kernel uses. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define WQ_PERCPU (1 << 8)
#endif

#endif
