/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QP execution, shared among qp.c, exec.c, req.c, resp.c, ud.c and complete.c.
 * Everything here but roce_kick() is called with the QP's run_lock held and
 * bottom halves off.
 */
#ifndef TERN_ROCE_EXEC_H
#define TERN_ROCE_EXEC_H

#include <linux/bitops.h>
#include <linux/ktime.h>

#include "proto/run.h"
#include "roce/qp/packet.h"
#include "roce/qp/state.h"
#include "roce/wire/build.h"
#include "roce/wire/room.h"

#define ROCE_RX_BACKLOG_MAX	4096	/* skbs queued to a busy QP before drops */

/* Packets that one holder of the run lock sends or takes in before it lets others on. */
#define ROCE_BUDGET_SOFTIRQ	128
#define ROCE_BUDGET_PROCESS	1024
/*
 * WQEs that it has taken and not begun to send: none begins more than it may send packets. And
 * that it completes: one packet's ACK may be for as many, taken in such portions.
 */
#define ROCE_BUDGET_WQES	ROCE_BUDGET_PROCESS

/* The local stack refused a packet and will not call back: look again after this. */
#define ROCE_TX_RETRY_NS	(200 * NSEC_PER_USEC)

/* An ACK timer that is no shorter may be early by one of them. */
#define ROCE_MANY_TICKS		16

/* ---- exec.c: who runs the QP, when ---- */

extern struct workqueue_struct *roce_wq;

/*
 * Leave marks (enum tern_qp_mark, 0: none) and run the QP here and now, unless somebody
 * does: then that one will see them. Any context; with IRQs off a work item does it.
 */
void roce_kick(struct roce_qp *qp, u32 marks);
/*
 * The same by a program that has posted to its own QP: what is for a QP of this host it
 * copies by itself, all that is posted, unless there is a signal for it. Sleeps.
 */
void roce_kick_posted(struct roce_qp *qp);
/*
 * The one way to let go of a run lock: QPs that waited for it, and the one left to be run after
 * this one (local.next), are run, the first after the caller (*next, referenced, if that is NULL),
 * others by work items. Returns the marks: if there are any, the caller runs the QP, or has it
 * run, or has left it a work item. BHs are off.
 */
u32 roce_run_unlock(struct roce_qp *qp, struct roce_qp **next) __releases(&qp->base.run_lock);
/* For those who took it with BHs off, in a process, and did not run the QP. BHs are on then. */
void roce_qp_unlock(struct roce_qp *qp) __releases(&qp->base.run_lock);
void roce_exec_init(struct roce_qp *qp);
/* No timer, work or queued packet is left; dead must be set before. Sleeps. */
void roce_exec_stop(struct roce_qp *qp);
/* And what the responder keeps. */
void roce_purge_backlog(struct roce_qp *qp);
/* What came for qp: service, P_Key, state and sender are checked. Does not consume an skb. */
void roce_rx_one(struct roce_qp *qp, const struct roce_rx *rx);

/* The time, asked for once by a holder of the run lock, and after each batch. */
static inline u64 roce_now(struct roce_qp *qp)
{
	if (!qp->now_ns)
		qp->now_ns = ktime_get_ns();
	return qp->now_ns;
}

/* A time since the last tick. BHs off. */
u64 roce_tick_ns(void);

/*
 * A time from which the requester's ACK timer may run: one since the last tick, which takes
 * little of a wait of many ticks. It costs next to nothing; a look at the clock costs as much as a
 * header, or, where the kernel has a slow one, as a packet.
 */
static inline u64 roce_ack_timer_from(struct roce_qp *qp)
{
	u64 wait = rc_req_first_wait_ns(&qp->req);

	if (qp->now_ns || (wait && wait < ROCE_MANY_TICKS * (u64)TICK_NSEC))
		return roce_now(qp);
	return roce_tick_ns();
}

/* The local stack has no room, no memory, and may not say when: look again in so long. */
void roce_tx_later(struct roce_qp *qp, u64 ns);
/*
 * Send what is batched. False: the local stack refused it, so the engines stand where
 * they stood before it, and it is a matter for later.
 */
bool roce_batch_send(struct roce_qp *qp);
/* What the requester may have under way becomes what suits the netdev that tx.cut_max_bytes is of. */
void roce_window_suit(struct roce_qp *qp);
bool roce_batch_make_room(struct roce_qp *qp, const struct run *run);
/* Room for the run's first packet, in the batch or in a new one. False: as roce_batch_send(). */
static inline bool roce_batch_room(struct roce_qp *qp, const struct run *run)
{
	if (likely(!qp->tx.batch.cut_bytes &&
		   roce_tx_list_fits(&qp->tx.batch, min(run->bytes, run->pmtu))))
		return true;
	return roce_batch_make_room(qp, run);
}

/* ---- complete.c: CQEs, flushing, errors ---- */

/*
 * SQ element index, the next in order, is over. On error, or if its poster wants
 * one, a CQE, and the room before it; else the caller retires it in time.
 */
void roce_complete_send(struct roce_qp *qp, u32 index, enum ib_wc_status status);
/* CQE of the receive WQE in hand; cqe has all but wr_id, qp and status. */
void roce_complete_recv(struct roce_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			bool solicited);
/*
 * Take a receive WQE in hand if none is. 1; 0: none posted; -EINVAL: it was malformed and is
 * complete; -EOVERFLOW: the ring is broken.
 */
int roce_take_recv(struct roce_qp *qp);
/*
 * The ways into an error state only change the state and stop the engines, for
 * they are taken in the middle of things; whoever runs the QP flushes when it
 * is done with the rest. After a modify, roce_kick() does.
 */
/* The QP enters ERR for a reason of its own; the event follows. */
void roce_qp_fatal(struct roce_qp *qp, enum ib_event_type event);
/* The QP enters ERR: all that is and will be posted is flushed. */
void roce_qp_error(struct roce_qp *qp);
/* UC, UD: the send queue alone stops (SQE) and is flushed. */
void roce_sq_error(struct roce_qp *qp);
/* ERR and SQE: flush what is posted. True: budget spent, more to do. */
bool roce_flush(struct roce_qp *qp, u32 *budget);

/* ---- req.c: RC and UC requester ---- */

static inline u64 roce_peer_timeout_ns(const struct roce_qp *qp)
{
	return (u64)READ_ONCE(qp->base.dev->peer_timeout_s) * NSEC_PER_SEC;
}

/* Take posted WQEs and send what may be sent. True: budget spent, more to do. */
bool roce_req_send(struct roce_qp *qp, u32 *budget);
void roce_req_rx(struct roce_qp *qp, const struct roce_rx *rx);
void roce_req_timer(struct roce_qp *qp);
/* Complete what is over. True: not all of it yet; nothing behind it is to be flushed before. */
bool roce_req_reap(struct roce_qp *qp);
/* SQD: raise the event once everything begun is complete. */
void roce_check_drained(struct roce_qp *qp);

/* ---- resp.c: RC and UC responder ---- */

void roce_resp_rx(struct roce_qp *qp, const struct roce_rx *rx);
/* In its stead while qp->kept is not empty: behind those that wait for a receive WQE. */
void roce_resp_rx_behind(struct roce_qp *qp, const struct roce_rx *rx);
/* Those go on as far as they can. True: budget spent, more to do. */
bool roce_resp_resume(struct roce_qp *qp, u32 *budget);

static inline bool roce_resp_has_kept(const struct roce_qp *qp)
{
	return unlikely(!skb_queue_empty(&qp->kept) || qp->local.peer_waits);
}

bool roce_resp_send(struct roce_qp *qp, u32 *budget);
/* The QP ends, or begins anew: the peer is not to miss an ACK that waits. */
void roce_resp_wait_no_more(struct roce_qp *qp);

/* ---- ud.c: UD and GSI ---- */

bool roce_ud_send(struct roce_qp *qp, u32 *budget);
void roce_ud_rx(struct roce_qp *qp, const struct roce_rx *rx);

/* ---- local.c: traffic within the host, without packets ---- */

#define ROCE_LOCAL_WINDOW_PKTS	(1u << 22)
/* A packet's worth of a budget: so a process copies 256 KiB in a go. */
#define ROCE_LOCAL_PKT_BYTES	256u
/* So many requests of no more than so many bytes have one acknowledge. */
#define ROCE_LOCAL_UNANSWERED	16u
#define ROCE_LOCAL_SHORT_BYTES	4096u

static inline u32 roce_local_cost(u32 bytes)
{
	return 1 + bytes / ROCE_LOCAL_PKT_BYTES;
}

/* pmtu: a power of two */
static inline u32 roce_local_pkts(u32 budget, u32 pmtu)
{
	return max(budget * ROCE_LOCAL_PKT_BYTES >> __ffs(pmtu), 1u);
}

enum roce_way {
	ROCE_WAY_WIRE,
	ROCE_WAY_LOCAL,		/* open until roce_local_close() */
	ROCE_WAY_WAIT,		/* not now; qp is run when it can go on */
	ROCE_WAY_CHANGED,	/* ask the engine again: the window is another */
};

void roce_local_init(struct roce_qp *qp);
/* RESET, or a new life of the requester: as if nothing had gone either way. */
void roce_local_reset(struct roce_qp *qp);
/* Which way does the requester's next run go? */
enum roce_way roce_local_way(struct roce_qp *qp, const struct run *run);
/* And what the responder owes, if qp->local.resp? */
enum roce_way roce_local_answer_way(struct roce_qp *qp);
/* Before a user's doorbell: wait a moment while a short message is being delivered to qp. */
void roce_local_await(const struct roce_qp *qp);
/* Of these, and those below that have two parts, call the second, which seldom needs the first. */
void roce_local_shut(struct roce_qp *qp);

/* No longer open, but the batch goes on. */
static inline void roce_local_let_go(struct roce_qp *qp)
{
	if (qp->local.open)
		roce_local_shut(qp);
}

/* The end of the batch. */
static inline void roce_local_close(struct roce_qp *qp)
{
	qp->local.wire_settled = false;
	roce_local_let_go(qp);
}

/*
 * All of a run to the peer, and its answers back, or, of short ones, later by
 * roce_local_settle(). -EFAULT: the WQE's memory refuses. -EAGAIN: the peer has no receive
 * WQE, and qp is run when it may have one.
 */
int roce_local_request(struct roce_qp *qp, const struct run *run, u32 *budget);
void roce_local_fetch(struct roce_qp *qp, u32 *budget);

/* Before roce_local_close(), and before giving up: false if all is answered already. */
static inline bool roce_local_settle(struct roce_qp *qp, u32 *budget)
{
	if (!qp->local.unanswered)
		return false;
	roce_local_fetch(qp, budget);
	return true;
}

/* The peer, which waits for a receive WQE of qp's, is run after it. */
void roce_local_call_peer(struct roce_qp *qp);
/* All of a run back to the peer. -EFAULT: its memory is no longer readable. */
int roce_local_respond(struct roce_qp *qp, const struct run *run, u32 *sent);
/* UD. 0: sent; -EAGAIN: by the stack; -EFAULT: the WQE's memory refuses. */
int roce_local_datagram(struct roce_qp *qp, const struct roce_path *path, struct pkt *k,
			struct tern_send_wqe *wqe);
/* For people: how a connected QP's packets go. */
const char *roce_local_name(const struct tern_qp *base);

void roce_local_run_next(struct roce_qp *qp, struct roce_qp **next);
void roce_local_run_waiters(struct roce_qp *qp, struct roce_qp **next);

/*
 * What is to be run besides: before the run lock is let go, and after it and a
 * full barrier. The first goes to *next if that is NULL, with a reference; others
 * are left to work items.
 */
static inline void roce_local_pass_on(struct roce_qp *qp, struct roce_qp **next)
{
	if (unlikely(qp->local.next))
		roce_local_run_next(qp, next);
}

static inline void roce_local_released(struct roce_qp *qp, struct roce_qp **next)
{
	if (unlikely(!list_empty_careful(&qp->local.waiters)))
		roce_local_run_waiters(qp, next);
}

/* Run it from a work item; takes over the caller's reference. */
void roce_kick_later(struct roce_qp *qp);

/* ---- qp.c ---- */

int roce_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init);
int roce_qp_modify(struct tern_qp *base, const struct ib_qp_attr *attr, int mask,
		   enum ib_qp_state cur, enum ib_qp_state next);
void roce_qp_query(struct tern_qp *base, struct ib_qp_attr *attr, int mask);
/* To a multicast group. */
int roce_qp_attach(struct tern_qp *base, const union ib_gid *mgid);
void roce_qp_quiesce(struct tern_qp *base);
void roce_qp_release(struct tern_qp *base);

#endif
