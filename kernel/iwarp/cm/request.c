// SPDX-License-Identifier: GPL-2.0
/*
 * Connection requests that iw_cm was told of. iw_cm drops those of a listener that ends before it
 * has looked at them, and does not report that. So it gets a number, which may turn out stale, and
 * a request that it does not answer ends some time after the listener (step.c).
 */
#include <linux/xarray.h>

#include "charged.h"
#include "core/device.h"
#include "iwarp/cm/end.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/request.h"

static DEFINE_XARRAY_FLAGS(requests, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
static u32 next_request;

int iw_request_announce(struct iw_ep *ep)
{
	int err = xa_alloc_cyclic(&requests, &ep->request, ep, xa_limit_31b, &next_request,
				  TERN_GFP_CHARGED);

	if (err < 0)
		return err;
	iw_ep_get(ep);
	return 0;
}

struct iw_ep *iw_request_take(u32 number)
{
	return xa_erase(&requests, number);
}

void iw_request_drop(struct iw_ep *ep, int status)
{
	/* Otherwise its answer is coming, and waits for ep->lock. */
	if (iw_request_take(ep->request) != ep)
		return;
	iw_ep_reset(ep, status);
	iw_ep_put(ep);
}

void iw_requests_end(struct tern_dev *dev)
{
	struct iw_ep *ep;
	unsigned long number;

	/* Others are answered meanwhile: an entry stays as long as the lock is held. */
	xa_lock(&requests);
	xa_for_each(&requests, number, ep) {
		if (ep->dev != dev)
			continue;
		__xa_erase(&requests, number);
		xa_unlock(&requests);
		iw_ep_lock(ep);
		iw_ep_reset(ep, -ECONNABORTED);
		iw_ep_unlock(ep);
		iw_ep_put(ep);
		xa_lock(&requests);
	}
	xa_unlock(&requests);
}
