// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: memory, references, workqueue and timer. What their work does is in step.c, how they
 * end in end.c.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "charged.h"
#include "core/device.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/trace.h"

/*
 * Steps of endpoints allocate: they must not hold up QPs (stream/defer.c) when there is only one
 * worker left.
 */
static struct workqueue_struct *iw_ep_wq;

int iw_ep_init(void)
{
	iw_ep_wq = alloc_workqueue("tern_iwarp_cm", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return iw_ep_wq ? 0 : -ENOMEM;
}

void iw_ep_exit(void)
{
	destroy_workqueue(iw_ep_wq);
}

void iw_ep_flush(void)
{
	flush_workqueue(iw_ep_wq);
}

struct iw_ep *iw_ep_alloc(struct tern_dev *dev, struct socket *sock)
{
	struct iw_ep *ep = kzalloc(sizeof(*ep), TERN_GFP_CHARGED);

	if (!ep) {
		iw_sock_release(sock);
		return NULL;
	}
	refcount_set(&ep->ref, 1);
	ep->dev = dev;
	ep->sock = sock;
	mutex_init(&ep->lock);
	INIT_LIST_HEAD(&ep->children);
	INIT_LIST_HEAD(&ep->child);
	return ep;
}

void iw_ep_set_state(struct iw_ep *ep, enum iw_ep_state state)
{
	trace_tern_iw_state(ep, state);
	ep->state = state;
}

void iw_ep_get(struct iw_ep *ep)
{
	refcount_inc(&ep->ref);
}

void iw_ep_put(struct iw_ep *ep)
{
	if (!refcount_dec_and_test(&ep->ref))
		return;
	iw_sock_release(ep->sock);
	kfree(ep);
}

void iw_ep_kick(struct iw_ep *ep)
{
	iw_ep_get(ep);
	if (!queue_work(iw_ep_wq, &ep->work))
		iw_ep_put(ep);
}

static void arm_timer(struct iw_ep *ep, unsigned long delay)
{
	iw_ep_get(ep);
	if (mod_delayed_work(iw_ep_wq, &ep->timeout, delay))
		iw_ep_put(ep);
}

void iw_ep_start_timer(struct iw_ep *ep, unsigned long delay)
{
	ep->deadline = jiffies + delay;
	arm_timer(ep, delay);
}

void iw_ep_retry(struct iw_ep *ep, unsigned long delay)
{
	long left = (long)(ep->deadline - jiffies);

	arm_timer(ep, min_t(unsigned long, delay, max(left, 0L)));
}

void iw_ep_stop_timer(struct iw_ep *ep)
{
	if (cancel_delayed_work(&ep->timeout))
		iw_ep_put(ep);
}
