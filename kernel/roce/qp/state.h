/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a RoCE QP. All of it belongs to the holder of the run lock, with BHs
 * off, except where a member says otherwise.
 */
#ifndef TERN_ROCE_QP_STATE_H
#define TERN_ROCE_QP_STATE_H

#include <linux/hrtimer.h>
#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "core/qp.h"
#include "proto/ack_hold.h"
#include "proto/cnp.h"
#include "proto/opcode.h"
#include "proto/pacer.h"
#include "proto/rc_req.h"
#include "proto/rc_resp.h"
#include "roce/wire/path.h"
#include "roce/wire/tx.h"

/* Traffic with a QP of this host, without packets: way.h, peer.h, local.h. */
struct roce_local {
	bool req;		/* requests go so */
	bool resp;		/* the last request came so: answers go back so */
	bool ud_wire;		/* UD: a packet of this batch went by the stack, so the rest does */
	bool wire_settled;	/* this batch of requests goes by the wire; not asked again */
	bool open;		/* deliver to `to`, locked besides this QP; NULL: there is none */
	struct roce_qp *to;
	bool peer_waits;	/* with a request, for a receive WQE or pages */
	bool brings_again;	/* the peer had no receive WQE for it, or is not done with it */
	bool short_held;	/* its run lock's holder delivers something short to it */
	u32 unanswered;		/* while open: requests whose acknowledge is still to be fetched */
	struct rc_window wire_window;	/* while req: the window to go back to */
	struct roce_qp *next;	/* referenced: to be run once this QP's run lock is free */
	struct list_head waiters;	/* QPs that wait for this one's run lock; under wait_lock */
	struct list_head wait_node;	/* in another's waiters, with a reference to this one */
	struct work_struct kick;	/* with a reference */
};

/* Packets that came before their turn: ahead.h. */
struct roce_ahead {
	struct rb_root tree;
	struct sk_buff *last;		/* NULL: there is none */
	u32 n;
};

struct roce_qp {
	struct tern_qp base;
	struct roce_path path;		/* RC, UC: the peer */
	struct roce_tx tx;
	struct {
		bool has_ack;
		bool has_requests;
		u32 psn;		/* of the first request packet */
	} batch;			/* what tx.batch holds, should the stack refuse it */

	struct rc_sqe *sqe;		/* RC, UC: parallel to the SQ's slots */
	struct rc_req req;
	struct rc_resp resp;
	struct ack_hold hold;
	struct cnp cnp;
	struct cnp cnp_in;		/* of those that came, and of marked responses */
	bool cnp_due;			/* this run sends one */
	struct rc_res *res;
	bool req_ready;			/* RTS reached since RESET */
	bool window_cut;		/* the requester's limit is that for a netdev that cuts */
	bool resp_ready;		/* RTR reached since RESET */

	struct roce_local local;
	struct list_head memberships;	/* of multicast groups; mcast.c's */
	u64 flushed;			/* responder: bytes of the FLUSH that is being executed */
	bool comm_est;
	bool last_wqe_told;		/* SRQ: in ERR, and the event was raised */

	struct sk_buff_head backlog;	/* packets that found the QP busy; any context adds to it */
	struct sk_buff_head kept;	/* receive.h: a request that waits, and those behind it */
	struct roce_ahead ahead_requests;
	struct roce_ahead ahead_answers;
	bool recv_called;		/* TERN_RING_F_KICK is set for them */
	u64 pages_until_ns;		/* how long they wait for pages; 0: for none, or for ever */
	struct hrtimer timer;
	u64 timer_ns;			/* what it is set for; 0: off */
	u64 now_ns;			/* roce_now(); 0: to be asked for */
	struct work_struct work;	/* goes on when a budget is spent, or there is room */
	int cpu;			/* that it was run by last */
	u64 retry_tx_ns;		/* local queue refused: try again then */
	u32 ud_sending;			/* UD/GSI: next SQ index to send */
	struct pacer ud_pacer;		/* UD */
};

static inline struct roce_qp *to_roce_qp(struct tern_qp *qp)
{
	return container_of(qp, struct roce_qp, base);
}

/* RC, UC, XRC. */
static inline bool roce_is_connected(const struct roce_qp *qp)
{
	return qp->base.type != IB_QPT_UD && qp->base.type != IB_QPT_GSI;
}

/* RC, XRC: requests are acknowledged, and may be READs and atomics. */
static inline bool roce_is_reliable(const struct roce_qp *qp)
{
	return roce_is_connected(qp) && qp->base.type != IB_QPT_UC;
}

/* Does it send requests, by an engine? */
static inline bool roce_has_requester(const struct roce_qp *qp)
{
	return roce_is_connected(qp) && qp->base.type != IB_QPT_XRC_TGT;
}

/* enum bth_service of its packets. */
static inline u8 roce_service(const struct roce_qp *qp)
{
	static const u8 service[] = {
		[IB_QPT_GSI] = BTH_UD,
		[IB_QPT_RC] = BTH_RC,
		[IB_QPT_UC] = BTH_UC,
		[IB_QPT_UD] = BTH_UD,
		[IB_QPT_XRC_INI] = BTH_XRC,
		[IB_QPT_XRC_TGT] = BTH_XRC,
	};

	return service[qp->base.type];
}

#endif
