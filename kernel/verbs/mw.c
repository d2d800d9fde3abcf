// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: allocation only. Binding and invalidation are work requests;
 * the transport executes them with mem/.
 */
#include <linux/err.h>

#include "core/device.h"
#include "core/quota.h"
#include "core/transport.h"
#include "mem/window.h"
#include "verbs/mw.h"
#include "verbs/udata.h"

static struct tern_mw *to_tern_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct tern_mw, ibmw);
}

int tern_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibmw->device);
	struct tern_region *region;
	int err;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	err = tern_udata_check(udata, 0) ?:
	      tern_count_in(&dev->num_mw, dev->transport->limits->max_mw);
	if (err)
		return err;

	region = tern_region_alloc_mw(&dev->keys, ibmw->pd, ibmw->type == IB_MW_TYPE_2);
	if (IS_ERR(region)) {
		atomic_dec(&dev->num_mw);
		return PTR_ERR(region);
	}
	to_tern_mw(ibmw)->region = region;
	ibmw->rkey = region->key;
	return 0;
}

int tern_dealloc_mw(struct ib_mw *ibmw)
{
	struct tern_dev *dev = to_tern_dev(ibmw->device);

	tern_window_destroy(&dev->keys, to_tern_mw(ibmw)->region);
	atomic_dec(&dev->num_mw);
	return 0;
}
