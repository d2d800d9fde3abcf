// SPDX-License-Identifier: GPL-2.0
/*
 * The workqueue of QPs. Endpoints have another (cm/ep.c): their steps allocate, and must not hold
 * up QPs when there is only one worker left.
 */
#include "iwarp/stream/defer.h"

struct workqueue_struct *iw_wq;

int iw_defer_init(void)
{
	iw_wq = alloc_workqueue("tern_iwarp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return iw_wq ? 0 : -ENOMEM;
}

void iw_defer_exit(void)
{
	destroy_workqueue(iw_wq);
}
