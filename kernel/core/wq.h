/* SPDX-License-Identifier: GPL-2.0 */
/* The module's own work queue, for work that is not a transport's. */
#ifndef TERN_CORE_WQ_H
#define TERN_CORE_WQ_H

#include <linux/workqueue.h>

/*
 * For events, port changes, the end of QPs. destroy_qp waits for some of this work, and may be
 * called to free memory.
 */
extern struct workqueue_struct *tern_wq;

/* Before the first link, and after the last. Sleeps. 0 or -ENOMEM. */
int tern_wq_init(void);
void tern_wq_exit(void);

#endif
