/* SPDX-License-Identifier: GPL-2.0 */
/* The module's own work queue, for work that is not a transport's. */
#ifndef TERN_CORE_WQ_H
#define TERN_CORE_WQ_H

#include <linux/workqueue.h>

/*
 * Events, port changes, the end of QPs. Destroying a QP waits for some of it, and may be part
 * of freeing memory.
 */
extern struct workqueue_struct *tern_wq;

/* Before the first link, and after the last. Sleeps. 0 or -ENOMEM. */
int tern_wq_init(void);
void tern_wq_exit(void);

#endif
