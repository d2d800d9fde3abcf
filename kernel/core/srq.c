// SPDX-License-Identifier: GPL-2.0
/*
 * The numbers of SRQs, and how an XRC target comes by the SRQ that a request names. verbs/srq.c
 * makes and destroys SRQs.
 *
 * ib_core frees an SRQ, its CQ and its PD as soon as destroy returns. So a target looks up a
 * handle, which is freed by RCU, and holds a reference to it while it uses the SRQ. Destroy waits
 * for that.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "charged.h"
#include "core/device.h"
#include "core/srq.h"

#define SRQN_FIRST	1
#define SRQN_LAST	0xffffff	/* XRCETH has 24 bits */

/* Of an XRC SRQ. */
struct tern_srq_handle {
	atomic_t ref;
	struct rcu_head rcu;
	struct tern_srq *srq;		/* valid with a reference */
	const struct ib_xrcd *xrcd;	/* only for comparison */
};

int tern_srq_reserve_number(struct tern_dev *dev, struct tern_srq *srq)
{
	struct tern_srq_handle *handle = NULL;
	int err;

	if (srq->xrcd) {
		handle = kzalloc(sizeof(*handle), TERN_GFP_CHARGED);
		if (!handle)
			return -ENOMEM;
		atomic_set(&handle->ref, 1);
		handle->srq = srq;
		handle->xrcd = srq->xrcd;
	}
	/* Cyclic, so that a number rests long before it is used again. */
	err = xa_alloc_cyclic(&dev->srqs, &srq->srqn, NULL, XA_LIMIT(SRQN_FIRST, SRQN_LAST),
			      &dev->next_srqn, TERN_GFP_CHARGED);
	if (err < 0) {
		kfree(handle);
		return err;
	}
	srq->handle = handle;
	return 0;
}

/* The slot is reserved, so storing allocates nothing and cannot fail. */
void tern_srq_publish(struct tern_dev *dev, struct tern_srq *srq)
{
	xa_store(&dev->srqs, srq->srqn, srq->handle, GFP_KERNEL);
}

void tern_srq_unpublish(struct tern_dev *dev, struct tern_srq *srq)
{
	struct tern_srq_handle *handle = srq->handle;

	xa_erase(&dev->srqs, srq->srqn);
	if (!handle)
		return;
	if (!atomic_dec_and_test(&handle->ref))
		wait_var_event(&handle->ref, !atomic_read_acquire(&handle->ref));
	kfree_rcu(handle, rcu);
}

struct tern_srq *tern_srq_borrow(struct tern_dev *dev, u32 srqn, const struct ib_xrcd *xrcd)
{
	struct tern_srq_handle *handle;
	struct tern_srq *srq = NULL;

	rcu_read_lock();
	handle = xa_load(&dev->srqs, srqn);
	if (handle && handle->xrcd == xrcd && atomic_inc_not_zero(&handle->ref))
		srq = handle->srq;
	rcu_read_unlock();
	return srq;
}

void tern_srq_give_back(struct tern_srq *srq)
{
	struct tern_srq_handle *handle = srq->handle;

	/* From here on destroy may go on. BHs are off, which keeps the handle. */
	if (atomic_dec_and_test(&handle->ref))
		wake_up_var(&handle->ref);
}
