/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects that verbs/ creates and the transports work on. A transport
 * embeds struct tern_qp in its own and adds engine state behind it.
 *
 * Lifetime of a QP: struct ib_qp belongs to ib_core, which frees it as soon as
 * destroy returns; struct tern_qp is ours, found by number under RCU, counted,
 * and freed by a process, an RCU grace period after the last reference.
 */
#ifndef TERN_OBJECTS_H
#define TERN_OBJECTS_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "mem/mem.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "stats.h"
#include "tern-abi.h"

struct tern_transport_ops;

struct tern_dev {
	struct ib_device ibdev;
	const struct tern_transport_ops *transport;
	u32 peer_timeout_s;		/* verbs/peer.c; read with READ_ONCE() */
	struct net_device *netdev;	/* held from creation to the end of dealloc_driver */
	netdevice_tracker netdev_tracker;
	struct net *net;		/* netns of netdev; the link dies before it */
	struct tern_keys keys;
	struct xarray qps;		/* QPN -> struct tern_qp, RCU */
	/* Of all QPs whose numbers are the same modulo its size, the last published. */
	struct tern_qp __rcu *newest_qp[256];
	u32 next_qpn;
	struct xarray ahs;		/* index -> struct tern_av, RCU */
	struct tern_stats __percpu *stats;
	struct list_head link_list;	/* link/: all links */
	struct work_struct port_work;	/* link/: port events out of notifier context */
	u8 port_state;			/* enum ib_port_state last reported */
	bool started;			/* device.c: transport->dev_start succeeded */
	bool ending;			/* verbs/: QPs do not leave RESET and ERR */
	bool netdev_gone;		/* link/: unregister as soon as registered */
	atomic_t port_cap_flags;	/* as ib_modify_port() left them */
	u32 next_ah;
	atomic_t next_srqn;
	atomic_t num_pd, num_mr, num_mw, num_cq, num_srq;
	atomic_t num_qp;		/* until struct tern_qp is released */
	void *transport_data;		/* transport's per-device state */
};

static inline struct tern_dev *to_tern_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct tern_dev, ibdev);
}

/* Of a file in sysfs. */
static inline struct tern_dev *tern_dev_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct tern_dev, ibdev);
}

/*
 * BHs are off: nobody else counts here meanwhile, so that machines whose addition is
 * no instruction of its own need not turn interrupts off.
 */
static inline void tern_count_add(struct tern_dev *dev, enum tern_counter c, u64 n)
{
	lockdep_assert(in_softirq() || irqs_disabled());
	__this_cpu_add(dev->stats->v[c], n);
}

static inline void tern_count(struct tern_dev *dev, enum tern_counter c)
{
	tern_count_add(dev, c, 1);
}

/* In any context: a counter of its own, that none of the above counts. */
static inline void tern_count_anywhere(struct tern_dev *dev, enum tern_counter c)
{
	this_cpu_inc(dev->stats->v[c]);
}

struct tern_ucontext {
	struct ib_ucontext ibuc;
	struct file *doorbell;		/* referenced; NULL: there is none */
};

struct tern_pd {
	struct ib_pd ibpd;
	bool ahs_freed;			/* address vectors may still be on their way out (RCU) */
};

/* Async events of one object, on their way to its consumer; verbs/event.c. */
struct tern_events {
	spinlock_t lock;
	bool off;			/* destroy has begun */
	u32 pending;			/* bits: enum ib_event_type */
	struct work_struct work;
};

struct tern_srq {
	struct ib_srq ibsrq;
	struct tern_rq rq;
	u32 srqn;
	struct tern_events events;
	/* verbs/ only */
	struct mutex modify_lock;
	struct rdma_user_mmap_entry *mmap;
};

/* Address vector as a UD WQE uses it: copied by value under RCU. */
struct tern_av {
	struct rcu_head rcu;
	u32 index;
	const struct ib_pd *pd;
	struct rdma_ah_attr attr;	/* attr.grh.sgid_attr is referenced by the ib_ah */
};

struct tern_ah {
	struct ib_ah ibah;
	struct tern_av *av;
};

/* Marks left by whoever finds the QP's run lock taken; see transport's run loop. */
enum tern_qp_mark {
	TERN_QP_MARK_SEND	= 1u << 0,	/* doorbell */
	TERN_QP_MARK_RX		= 1u << 1,	/* packets queued */
	TERN_QP_MARK_TIMER	= 1u << 2,
	TERN_QP_MARK_WORK	= 1u << 3,	/* a work item was here, and left it to the holder */
};

struct tern_qp {
	refcount_t ref;
	struct rcu_work end;		/* after the last reference */
	struct tern_dev *dev;
	struct ib_qp *ibqp;		/* valid until destroy returns; under run_lock use only if !dead */
	u32 qpn;
	enum ib_qp_type type;
	bool user;
	bool sq_sig_all;
	const struct file *doorbell;	/* of its context: to compare, not to use */
	bool dead;			/* destroy has begun; under run_lock */

	/* who holds run_lock owns SQ, RQ, engines and state (with BHs off) */
	spinlock_t run_lock;
	atomic_t marks;			/* enum tern_qp_mark */
	enum ib_qp_state state;		/* written under run_lock */
	struct ib_qp_attr attr;		/* as set by modify_qp, under run_lock */

	struct ib_pd *pd;
	struct tern_mem_ctx mem;
	struct tern_cq *scq;
	struct tern_cq *rcq;
	struct tern_srq *srq;		/* NULL: own rq */
	struct tern_sq sq;
	struct tern_rq rq;
	struct tern_rwqe rwqe;		/* the receive WQE being filled */
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

static inline struct tern_qp *to_tern_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct tern_ibqp, ibqp)->qp;
}

/*
 * NULL: there is none. Under RCU, for which BHs off are enough. Numbers are given
 * out one after the other, so most QPs are found without a walk through the tree.
 */
static inline struct tern_qp *tern_qp_lookup(struct tern_dev *dev, u32 qpn)
{
	struct tern_qp *qp = rcu_dereference_check(dev->newest_qp[qpn % ARRAY_SIZE(dev->newest_qp)],
						   rcu_read_lock_bh_held());

	return qp && qp->qpn == qpn ? qp : xa_load(&dev->qps, qpn);
}

/* Any context: the end is a work item's. */
void tern_qp_put(struct tern_qp *qp);

/*
 * Store what modify_qp set in qp->attr (not the state): the transport calls it
 * in qp_modify, so that attributes change together with what depends on them.
 * run_lock held.
 */
void tern_qp_set_attr(struct tern_qp *qp, const struct ib_qp_attr *attr, int mask);

/*
 * Completions, run_lock held.
 *
 * SQ element index, the next in order, is over: on error, or if its poster
 * wants one, a CQE, and the room before it; else the caller retires it in time.
 * False: the CQ has no room.
 */
bool tern_qp_complete_send(struct tern_qp *qp, u32 index, enum ib_wc_status status);
/* CQE of the receive WQE in hand; cqe has all but wr_id, qp and status. False: no room. */
bool tern_qp_complete_recv(struct tern_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			   bool solicited);
/*
 * Take a receive WQE in hand if none is. 1; 0: none posted; -EINVAL: it is malformed, and to be
 * completed so; -EOVERFLOW: the ring is broken.
 */
int tern_qp_take_recv(struct tern_qp *qp);
/* Would that be other than 0? Of a queue that is not shared. */
static inline bool tern_qp_recv_is_posted(const struct tern_qp *qp)
{
	return qp->have_rwqe || tern_rq_is_posted(&qp->rq);
}

/* LOCAL_INV, BIND_MW, REG_MR; any other opcode, malformed WQEs for one, is LOC_QP_OP_ERR. */
enum ib_wc_status tern_qp_execute_local(struct tern_qp *qp, const struct tern_send_wqe *wqe);
/* Flush the receive queue, unless it is shared. True: budget spent, more to do. */
bool tern_qp_flush_recv(struct tern_qp *qp, u32 *budget);

/*
 * Async event for a QP, SRQ, from the transport, run_lock held or not, any
 * context; nothing happens once destroy has begun. The consumer's handler runs
 * in a work item; equal events not yet delivered are one.
 */
void tern_qp_event(struct tern_qp *qp, enum ib_event_type type);
void tern_srq_event(struct tern_srq *srq, enum ib_event_type type);

/* A device's files that are not its transport's, for the device_group of each. */
#define TERN_DEV_ATTRS			\
	&tern_attr_board_id.attr,	\
	&tern_attr_hca_type.attr,	\
	&tern_attr_hw_rev.attr,		\
	&tern_attr_peer_timeout.attr
extern struct device_attribute tern_attr_board_id;
extern struct device_attribute tern_attr_hca_type;
extern struct device_attribute tern_attr_hw_rev;
extern struct device_attribute tern_attr_peer_timeout;

/* lo and most tunnels have none. */
static inline bool tern_netdev_has_address(const struct net_device *netdev)
{
	return memchr_inv(netdev->dev_addr, 0, netdev->addr_len);
}

#endif
