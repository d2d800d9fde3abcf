// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains: only an identity. An XRC target finds the SRQs of its own domain. ib_core knows
 * which programs share a domain, and which QPs and SRQs are in it.
 */
#include "core/device.h"
#include "core/quota.h"
#include "core/transport.h"
#include "verbs/udata.h"
#include "verbs/xrcd.h"

int tern_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibxrcd->device);
	int err = tern_udata_check(udata, 0);

	if (err)
		return err;
	return tern_count_in(&dev->num_xrcd, dev->transport->limits->max_xrcd);
}

int tern_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	atomic_dec(&to_tern_dev(ibxrcd->device)->num_xrcd);
	return 0;
}
