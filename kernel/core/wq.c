// SPDX-License-Identifier: GPL-2.0
/*
 * The module's own work queue. It has a rescuer, so it makes progress when
 * memory is short.
 */
#include <linux/errno.h>

#include "core/wq.h"

struct workqueue_struct *tern_wq;

int tern_wq_init(void)
{
	tern_wq = alloc_workqueue("tern", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return tern_wq ? 0 : -ENOMEM;
}

void tern_wq_exit(void)
{
	destroy_workqueue(tern_wq);
}
