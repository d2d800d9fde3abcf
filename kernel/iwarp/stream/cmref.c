// SPDX-License-Identifier: GPL-2.0
/*
 * QPs as iw_cm and endpoints find them: struct ib_qp must stay until iw_cm's references are gone.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <rdma/rdma_cm.h>

#include "core/qp.h"
#include "iwarp/stream/cmref.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/upcalls.h"

/* By number, referenced: struct ib_qp stays until iw_cmref_put(). */
static struct iw_qp *find_qp(struct tern_dev *dev, u32 qpn)
{
	struct tern_qp *base;
	struct iw_qp *qp = NULL;

	rcu_read_lock();
	base = tern_qp_lookup(dev, qpn);
	if (base && refcount_inc_not_zero(&to_iw_qp(base)->cm_refs))
		qp = to_iw_qp(base);
	rcu_read_unlock();
	return qp;
}

void iw_cmref_put(struct iw_qp *qp)
{
	if (refcount_dec_and_test(&qp->cm_refs))
		complete(&qp->cm_gone);
}

/*
 * iw_cm looks a QP up and then refers to it, in two calls with nothing in between, but without
 * anything that would keep the QP. So the first call does both.
 */
struct ib_qp *iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct iw_qp *qp = find_qp(to_tern_dev(ibdev), qpn);

	return qp ? qp->base.ibqp : NULL;
}

void iw_qp_add_ref(struct ib_qp *ibqp)
{
}

void iw_qp_rem_ref(struct ib_qp *ibqp)
{
	iw_cmref_put(to_iw_qp(to_tern_qp(ibqp)));
}

static int is_file_of(const void *ufile, struct file *file, unsigned int fd)
{
	return file->private_data == ufile;
}

/*
 * rdma_cm believes a process which QP it may connect, except for the kernel's QPs, which are made
 * with rdma_cm's identifier. A program's QP is connected only by a process that has the file open
 * by which the QP was made: that process could as well destroy it.
 */
static bool is_callers(const struct iw_qp *qp, const struct rdma_cm_id *id)
{
	const struct tern_qp *base = &qp->base;

	if (!base->user)
		return READ_ONCE(id->qp) == base->ibqp;
	return iterate_fd(current->files, 0, is_file_of, base->pd->uobject->ufile);
}

static int attach_ep(struct iw_qp *qp, struct iw_ep *ep)
{
	int err = 0;

	spin_lock_bh(&qp->base.run_lock);
	if (qp->base.dead || qp->ep || !iw_qp_may_connect(qp)) {
		err = -EINVAL;
	} else {
		iw_ep_get(ep);
		qp->ep = ep;
	}
	spin_unlock_bh(&qp->base.run_lock);
	return err;
}

struct iw_qp *iw_qp_attach(struct tern_dev *dev, u32 qpn, const struct rdma_cm_id *id,
			   struct iw_ep *ep)
{
	/* iw_cm has its own reference for the whole call. */
	struct iw_qp *qp = find_qp(dev, qpn);
	int err;

	if (!qp)
		return ERR_PTR(-EINVAL);
	err = is_callers(qp, id) ? attach_ep(qp, ep) : -EPERM;
	iw_cmref_put(qp);
	return err ? ERR_PTR(err) : qp;
}

void iw_qp_detach(struct iw_qp *qp, struct iw_ep *ep)
{
	if (!qp)
		return;
	spin_lock_bh(&qp->base.run_lock);
	qp->ep = NULL;
	spin_unlock_bh(&qp->base.run_lock);
	iw_ep_put(ep);
}
