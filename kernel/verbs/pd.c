// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domains: only an identity. Regions, windows, QPs and address
 * handles are compared by it.
 */
#include <linux/rcupdate.h>

#include "core/device.h"
#include "core/quota.h"
#include "core/transport.h"
#include "verbs/pd.h"
#include "verbs/udata.h"

int tern_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	int err = tern_udata_check(udata, 0);

	if (err)
		return err;
	return tern_count_in(&dev->num_pd, dev->transport->limits->max_pd);
}

int tern_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	/*
	 * Address vectors give their GID back an RCU grace period after their AH. All PDs are gone
	 * before ib_core tears down the device's GID table, so waiting here is early enough, and
	 * one wait serves all AHs.
	 */
	if (to_tern_pd(ibpd)->ahs_freed)
		rcu_barrier();
	atomic_dec(&to_tern_dev(ibpd->device)->num_pd);
	return 0;
}
