/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workqueues whose work runs on the CPU that queued it say so from 6.17 on. Before, and
 * where no stable release has taken it over, they are so without saying.
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
