/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The QP base. A transport embeds struct tern_qp in its own QP and adds engine
 * state behind it.
 *
 * Lifetime: struct ib_qp belongs to ib_core, which frees it as soon as destroy
 * returns. struct tern_qp is ours: found by number under RCU, counted, and freed
 * by a process, an RCU grace period after the last reference.
 */
#ifndef TERN_CORE_QP_H
#define TERN_CORE_QP_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "core/event.h"
#include "mem/ctx.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/sq.h"

struct tern_srq;

/* Left by a context that finds the QP's run lock taken; see the transport's run loop. */
enum tern_qp_mark {
	TERN_QP_MARK_SEND	= 1u << 0,	/* doorbell */
	TERN_QP_MARK_RX		= 1u << 1,	/* packets queued */
	TERN_QP_MARK_TIMER	= 1u << 2,
	TERN_QP_MARK_WORK	= 1u << 3,	/* a work item found the lock taken */
};

/*
 * An XRC target has no SQ, RQ, CQ and PD: it borrows an SRQ for each request, with the SRQ's CQ and
 * PD. An XRC initiator has no RQ.
 */
struct tern_qp {
	refcount_t ref;
	struct rcu_work end;		/* after the last reference */
	struct tern_dev *dev;
	struct tern_stats __percpu *stats;	/* core/stats.h; RCU */
	struct ib_qp *ibqp;		/* valid until destroy; under run_lock only if !dead */
	u32 qpn;
	enum ib_qp_type type;
	bool user;
	bool sq_sig_all;
	bool skips_own_mcast;		/* UD: takes no multicast that it has sent itself */
	const struct file *doorbell;	/* its context's; only for comparison */
	bool dead;			/* destroy has begun; under run_lock */

	/* The holder of run_lock owns SQ, RQ, engines and state (with BHs off). */
	spinlock_t run_lock;
	atomic_t marks;			/* enum tern_qp_mark */
	enum ib_qp_state state;		/* written under run_lock */
	struct ib_qp_attr attr;		/* as set by modify_qp, under run_lock */
	u32 burst_bytes;		/* the same, with attr.rate_limit; 0: none was named */
	u32 new_burst_bytes;		/* what verbs/ is about to set; under modify_lock */

	struct ib_pd *pd;		/* XRC target: NULL; mem has what is borrowed */
	struct tern_mem_ctx mem;
	struct tern_fault fault;	/* core/fault.h */
	struct work_struct fault_work;	/* with a reference */
	struct tern_cq *scq;		/* XRC target: NULL */
	struct tern_cq *rcq;		/* XRC target: borrowed or NULL; XRC initiator: NULL */
	struct tern_srq *srq;		/* XRC target: borrowed or NULL */
	const struct ib_xrcd *xrcd;	/* XRC target */
	struct tern_sq sq;		/* if tern_qp_has_sq() */
	struct tern_rq rq;		/* if tern_qp_has_rq() */
	struct tern_rwqe rwqe;		/* the receive WQE being filled */
	u32 rwqe_srqn;			/* the SRQ that it is of; 0: none */
	bool have_rwqe;
	struct tern_events events;
};

/* What the ib_core-allocated QP object holds. */
struct tern_ibqp {
	struct ib_qp ibqp;
	struct tern_qp *qp;		/* NULL: destroyed; tern_qp_hold() */
	/* verbs/ only */
	struct mutex modify_lock;
	u32 create_flags;
	/* mmap entries of the rings (user QPs) */
	struct rdma_user_mmap_entry *sq_mmap;
	struct rdma_user_mmap_entry *rq_mmap;
};

static inline struct tern_ibqp *to_tern_ibqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct tern_ibqp, ibqp);
}

static inline struct tern_qp *to_tern_qp(struct ib_qp *ibqp)
{
	return to_tern_ibqp(ibqp)->qp;
}

static inline bool tern_qp_has_sq(const struct tern_qp *qp)
{
	return qp->sq.ring;
}

/* A receive queue of its own? */
static inline bool tern_qp_has_rq(const struct tern_qp *qp)
{
	return qp->rq.ring;
}

/*
 * NULL: there is none. Under RCU; BHs off are enough. Numbers are given out one after the other, so
 * most QPs are found without a walk through the tree.
 */
static inline struct tern_qp *tern_qp_lookup(struct tern_dev *dev, u32 qpn)
{
	struct tern_qp *qp = rcu_dereference_check(dev->newest_qp[qpn % ARRAY_SIZE(dev->newest_qp)],
						   rcu_read_lock_bh_held());

	return qp && qp->qpn == qpn ? qp : xa_load(&dev->qps, qpn);
}

/*
 * For ib_core's dumps, instead of to_tern_qp(). Older releases hold only struct ib_qp, and also
 * dump QPs that are destroyed already: then NULL. The caller owes a tern_qp_put().
 */
struct tern_qp *tern_qp_hold(struct ib_qp *ibqp);
/* Any context: a work item ends the QP. */
void tern_qp_put(struct tern_qp *qp);

/*
 * A QP of the transport's size in RESET, with one reference, counted in num_qp. The caller fills in
 * what the consumer asked for. Sleeps. ERR_PTR(-ENOMEM).
 */
struct tern_qp *tern_qp_alloc(struct tern_dev *dev);
/* Undoes alloc, before the transport knows the QP. */
void tern_qp_free(struct tern_qp *qp);

/* Reserves a number for a QP of its type; lookups find nothing yet. Sleeps. 0 or an error. */
int tern_qp_reserve_number(struct tern_qp *qp);
/* Undoes that, for a QP that was never published. */
void tern_qp_release_number(struct tern_qp *qp);
/*
 * From publish to unpublish packets and doorbells find the QP. Unpublish also gives the number
 * back.
 */
void tern_qp_publish(struct tern_qp *qp);
void tern_qp_unpublish(struct tern_qp *qp);

/* run_lock held, or nobody else knows qp yet. */
void tern_qp_set_state(struct tern_qp *qp, enum ib_qp_state state);
/*
 * Stores what modify_qp set in qp->attr (not the state). The transport calls it in qp_modify, so
 * that attributes change together with what depends on them. run_lock held.
 */
void tern_qp_set_attr(struct tern_qp *qp, const struct ib_qp_attr *attr, int mask);

/*
 * Begin: before there are programs. End: the device is about to be unregistered, or moves to
 * another namespace. User QPs go to ERR and stay there, so that programs that poll see flushed
 * completions. Process context.
 */
void tern_qps_begin(struct tern_dev *dev);
void tern_qps_end(struct tern_dev *dev);

#endif
