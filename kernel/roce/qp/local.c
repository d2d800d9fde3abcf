// SPDX-License-Identifier: GPL-2.0
/*
 * Between two QPs of this host: the same engines, without packets. A run goes to
 * the peer's engine as one stretch, whose payload is copied from memory to
 * memory. What is decided is decided in proto/, as ever, and what a QP of this
 * kind shows is what it would show over `lo`.
 *
 * Who runs a QP and delivers to another holds both run locks. The one of the
 * higher address is waited for; the other way round it is tried, and if that
 * fails the QP goes on the other's list of waiters, to be run by whoever lets go
 * of that lock. So nobody waits in a circle and no run is forgotten. A QP
 * whose lock was held for another is run too if somebody left it a mark meanwhile.
 * It is let go of as soon as all is answered, before what is complete is told.
 *
 * Nothing here is re-entrant: a request is first counted as sent, then
 * delivered; then, from the loop that sends, the peer's answers are fetched. The
 * peer's own receive path never answers.
 */
#include "roce/exec.h"
#include "roce/wire/route.h"
#include "uncleared.h"

/* Payload of no more than this is gathered on the stack. */
#define ROCE_LOCAL_SMALL_BYTES	256

/* Looks at a run lock that will soon be free: some microseconds at most. */
#define ROCE_LOCAL_AWAIT	50

/* All runs that end for want of a lock; never taken otherwise. */
static DEFINE_SPINLOCK(wait_lock);

/* ---- waiting for a run lock ---- */

void roce_kick_later(struct roce_qp *qp)
{
	if (!queue_work(roce_wq, &qp->local.kick))
		tern_qp_put(&qp->base);
}

static void kick_fn(struct work_struct *work)
{
	struct roce_qp *qp = container_of(work, struct roce_qp, local.kick);

	roce_kick(qp, TERN_QP_MARK_SEND);
	tern_qp_put(&qp->base);
}

void roce_local_init(struct roce_qp *qp)
{
	INIT_LIST_HEAD(&qp->local.waiters);
	INIT_LIST_HEAD(&qp->local.wait_node);
	INIT_WORK(&qp->local.kick, kick_fn);
}

/* qp, referenced, is to be run; the first in *next, others later. */
static void run_after(struct roce_qp *qp, struct roce_qp **next)
{
	if (!*next)
		*next = qp;
	else if (*next == qp)
		tern_qp_put(&qp->base);
	else
		roce_kick_later(qp);
}

static void wait_for(struct roce_qp *qp, struct roce_qp *other)
{
	spin_lock(&wait_lock);
	if (list_empty(&qp->local.wait_node))
		refcount_inc(&qp->base.ref);
	list_move_tail(&qp->local.wait_node, &other->local.waiters);
	spin_unlock(&wait_lock);
}

static void wait_no_more(struct roce_qp *qp)
{
	bool waited;

	spin_lock(&wait_lock);
	waited = !list_empty(&qp->local.wait_node);
	list_del_init(&qp->local.wait_node);
	spin_unlock(&wait_lock);
	/* not the last one: destroy has its own until it has had the run lock */
	if (waited)
		tern_qp_put(&qp->base);
}

void roce_local_run_waiters(struct roce_qp *qp, struct roce_qp **next)
{
	struct roce_qp *waiter, *tmp;

	spin_lock_bh(&wait_lock);
	list_for_each_entry_safe(waiter, tmp, &qp->local.waiters, local.wait_node) {
		list_del_init(&waiter->local.wait_node);
		run_after(waiter, next);
	}
	spin_unlock_bh(&wait_lock);
}

void roce_local_run_next(struct roce_qp *qp, struct roce_qp **next)
{
	run_after(qp->local.next, next);
	qp->local.next = NULL;
}

/* ---- the other QP's lock ---- */

/*
 * False: somebody has it, and whoever lets go of it runs qp. (Here and below:
 * sparse cannot follow a lock that is handed on, and is told so.)
 */
static bool lock_other(struct roce_qp *qp, struct roce_qp *other)
{
	if (qp < other) {
		spin_lock_nested(&other->base.run_lock, SINGLE_DEPTH_NESTING);
		__release(&other->base.run_lock);
		return true;
	}
	if (spin_trylock(&other->base.run_lock)) {
		__release(&other->base.run_lock);
		return true;
	}
	wait_for(qp, other);
	/* Pairs with the barrier between an unlock and the look for waiters. */
	smp_mb();
	if (!spin_trylock(&other->base.run_lock))
		return false;
	__release(&other->base.run_lock);
	wait_no_more(qp);
	return true;
}

/*
 * A program that sees what came may post its answer while the one that brought it still
 * has the lock. To wait a moment is less than to have the answer sent by that CPU too,
 * behind all that it has to do for its own message.
 */
void roce_local_await(const struct roce_qp *qp)
{
	u32 n;

	for (n = 0; n < ROCE_LOCAL_AWAIT && READ_ONCE(qp->local.short_held); n++)
		cpu_relax();
}

/* Who rang for it meanwhile, or waits for it, comes after qp. */
static void unlock_other(struct roce_qp *qp, struct roce_qp *other)
{
	other->now_ns = 0;
	WRITE_ONCE(other->local.short_held, false);
	__acquire(&other->base.run_lock);
	if (roce_run_unlock(other, &qp->local.next) && refcount_inc_not_zero(&other->base.ref))
		run_after(other, &qp->local.next);
}

/*
 * Do both name each other? A packet does not say which QP sent it, so by the wire whoever
 * has the peer's address and knows QPN and PSN is taken for the peer. Here it is known.
 * While the other is not locked it may just become one, or cease to be.
 */
static bool is_peer(const struct roce_qp *qp, const struct roce_qp *other)
{
	/* What is old here costs a run, as a packet lost would. */
	u32 named = data_race(other->base.attr.dest_qp_num);

	return other->base.type == qp->base.type && named == qp->base.qpn;
}

/*
 * qp's peer on dev, locked besides qp (which it may be). NULL: there is none that
 * would take anything from it. False: busy. BHs off.
 */
static bool find_other(struct roce_qp *qp, struct tern_dev *dev, struct roce_qp **other)
{
	struct tern_qp *base;
	struct roce_qp *to;

	*other = NULL;
	/* as rx.c */
	if (!(READ_ONCE(dev->netdev->flags) & IFF_UP))
		return true;
	base = tern_qp_lookup(dev, qp->base.attr.dest_qp_num);
	if (!base) {
		tern_count(dev, TERN_CNT_RX_NO_QP);
		return true;
	}
	to = to_roce_qp(base);
	if (to == qp) {
		*other = to;
		return true;
	}
	/* None but the peer locks it, or waits for it: strangers may be many. */
	if (is_peer(qp, to)) {
		if (!lock_other(qp, to))
			return false;
		if (!base->dead && is_peer(qp, to)) {
			*other = to;
			return true;
		}
		unlock_other(qp, to);
	}
	tern_count(dev, READ_ONCE(base->dead) ? TERN_CNT_RX_NO_QP : TERN_CNT_RX_BAD_PATH);
	return true;
}

static bool open_way(struct roce_qp *qp, struct tern_dev *dev)
{
	struct roce_qp *to;

	if (!find_other(qp, dev, &to))
		return false;
	qp->local.to = to;
	qp->local.open = true;
	return true;
}

void roce_local_shut(struct roce_qp *qp)
{
	struct roce_qp *to = qp->local.to;

	qp->local.open = false;
	qp->local.to = NULL;
	if (to && to != qp)
		unlock_other(qp, to);
}

/* What there is to do for other is done when qp lets go of it. */
static void leave_work(struct roce_qp *other)
{
	atomic_or(TERN_QP_MARK_SEND, &other->base.marks);
}

/* ---- from packets to none, and back ---- */

void roce_local_reset(struct roce_qp *qp)
{
	qp->local.req = false;
	qp->local.resp = false;
	qp->local.peer_waits = false;
	qp->local.waits_for_recv = false;
}

static void change_way(struct roce_qp *qp, bool local)
{
	if (local) {
		struct rc_window window;

		qp->local.wire_window = rc_req_get_window(&qp->req);
		rc_window_init(&window, ROCE_LOCAL_WINDOW_PKTS, 0);
		rc_req_set_window(&qp->req, &window);
	} else {
		rc_req_set_window(&qp->req, &qp->local.wire_window);
	}
	WRITE_ONCE(qp->local.req, local);
}

/*
 * PSNs count packets either way, so the engines go on. Towards the wire nothing
 * is under way that could be overtaken. From the wire all that is must have been
 * answered; if that will come by itself, it is waited for. (UC has no answers: a
 * message that is still in the stack then is lost, as it may be.)
 */
enum roce_way roce_local_way(struct roce_qp *qp, const struct run *run)
{
	const struct rc_req *req = &qp->req;
	struct tern_dev *dev;

	if (qp->local.open)
		return ROCE_WAY_LOCAL;
	if (qp->local.wire_settled)
		return ROCE_WAY_WIRE;
	dev = roce_tx_peer_dev(&qp->tx, &qp->path);
	if (!dev) {
		qp->local.wire_settled = !qp->local.req;
		if (!qp->local.req)
			return ROCE_WAY_WIRE;
		change_way(qp, false);
		return ROCE_WAY_CHANGED;
	}
	if (!qp->local.req) {
		if (!rc_req_is_quiet(req))
			return rc_req_answer_is_due(req) && !rc_req_is_resent(req, run) ?
				       ROCE_WAY_WAIT : ROCE_WAY_WIRE;
		change_way(qp, true);
		return ROCE_WAY_CHANGED;
	}
	return open_way(qp, dev) ? ROCE_WAY_LOCAL : ROCE_WAY_WAIT;
}

enum roce_way roce_local_answer_way(struct roce_qp *qp)
{
	struct tern_dev *dev = roce_tx_peer_dev(&qp->tx, &qp->path);

	if (!dev) {
		/* Until a request comes without a packet again: answers do not overtake. */
		qp->local.resp = false;
		return ROCE_WAY_WIRE;
	}
	if (!open_way(qp, dev))
		return ROCE_WAY_WAIT;
	if (qp->local.to)
		leave_work(qp->local.to);	/* for what the answers bring */
	return ROCE_WAY_LOCAL;
}

/* ---- carriage ---- */

static void source_from_wqe(struct roce_source *src, struct roce_qp *qp,
			    struct tern_send_wqe *wqe)
{
	if (wqe->flags & TERN_SEND_INLINE) {
		src->flat = tern_wqe_inline(wqe);
		return;
	}
	src->mem = &qp->base.mem;
	src->sge = tern_wqe_sge(wqe);
	src->num_sge = wqe->num_sge;
}

/* All but who gets it, and the packet. */
static void rx_begin(struct roce_rx *rx, struct roce_source *src)
{
	rx->dev = NULL;
	rx->skb = NULL;
	rx->src = src;
	rx->mcast = false;
}

static void deliver(struct roce_qp *to, struct roce_rx *rx)
{
	rx->dev = to->base.dev;
	roce_rx_one(to, rx);
}

static void count(struct roce_qp *qp, const struct pkt *k)
{
	if (k->op_flags & OPF_LAST)
		tern_count(qp->base.dev, TERN_CNT_LOCAL_MSGS);
	tern_count_add(qp->base.dev, TERN_CNT_LOCAL_BYTES, k->payload_bytes);
}

/* A plain acknowledge, without what it takes to send one: most often there is nothing else. */
static void take_ack(struct roce_qp *qp, struct roce_qp *to)
{
	struct roce_rx ack TERN_UNCLEARED;

	rx_begin(&ack, NULL);
	rc_resp_take_ack(&to->resp, &ack.k);
	roce_req_rx(qp, &ack);
}

/* The peer has taken in what came from src: what has it to say, and to do? */
static void fetch_answers(struct roce_qp *qp, struct roce_qp *to, const struct roce_source *src,
			  u32 *budget)
{
	u32 left = max(*budget, 1u);	/* an acknowledge goes always */
	bool more = false;

	qp->local.unanswered = 0;
	if (to->base.type == IB_QPT_RC && to->resp_ready && rc_resp_owes(&to->resp)) {
		if (to->local.resp && roce_path_is_back(&to->path, src->path)) {
			if (to->base.state != IB_QPS_ERR && rc_resp_owes_ack_only(&to->resp)) {
				take_ack(qp, to);
				*budget -= min(*budget, 1u);
				return;
			}
			to->local.open = true;
			to->local.to = qp;
			more = roce_resp_send(to, &left);
			*budget = min(*budget, left);
			/* of a QP connected to itself it is the same way */
			to->local.open = to == qp;
			to->local.to = to == qp ? qp : NULL;
		} else {
			more = true;
		}
	}
	if (more || to->base.state == IB_QPS_ERR || to->base.state == IB_QPS_SQE)
		leave_work(to);
}

/* Of short messages one acknowledge for some is enough, if there is nothing else to say. */
static bool answer_may_wait(struct roce_qp *qp, const struct roce_qp *to, const struct run *run)
{
	return run->bytes <= ROCE_LOCAL_SHORT_BYTES && rc_resp_owes_ack_only(&to->resp) &&
	       ++qp->local.unanswered < ROCE_LOCAL_UNANSWERED;
}

void roce_local_fetch(struct roce_qp *qp, u32 *budget)
{
	struct roce_source src = { .path = &qp->path };

	fetch_answers(qp, qp->local.to, &src, budget);
}

/* Of little all is read right away, into small: that is less work than to look twice. */
static bool source_is_readable(struct roce_source *src, u32 n, u8 small[ROCE_LOCAL_SMALL_BYTES])
{
	if (src->flat || n > ROCE_LOCAL_SMALL_BYTES)
		return roce_source_ok(src, n);
	if (tern_sges_read(src->mem, src->sge, src->num_sge, src->off, small, n))
		return false;
	src->flat = small;
	src->off = 0;
	return true;
}

/* Should nobody call us: whether to has a receive WQE. */
static void look_again(struct roce_qp *qp, struct roce_qp *to)
{
	u64 at = rc_resp_recv_look_ns(&to->resp), now = roce_now(qp);

	roce_tx_later(qp, at > now ? at - now : RC_RESP_RECV_LOOK_NS);
}

void roce_local_call_peer(struct roce_qp *qp)
{
	struct tern_dev *dev = roce_tx_peer_dev(&qp->tx, &qp->path);
	struct tern_qp *base = dev ? tern_qp_lookup(dev, qp->base.attr.dest_qp_num) : NULL;

	if (base && base != &qp->base && refcount_inc_not_zero(&base->ref))
		run_after(to_roce_qp(base), &qp->local.next);
}

int roce_local_request(struct roce_qp *qp, const struct run *run, u32 *budget)
{
	struct roce_source src = { .path = &qp->path, .off = run->offset };
	u8 small[ROCE_LOCAL_SMALL_BYTES] TERN_UNCLEARED;
	struct roce_rx rx TERN_UNCLEARED;
	bool reliable = qp->base.type == IB_QPT_RC;
	u64 now_ns = roce_ack_timer_from(qp);
	struct roce_qp *to = qp->local.to;

	*budget -= min(*budget, roce_local_cost(run->bytes));
	rx_begin(&rx, &src);
	run_stretch(run, &rx.k);
	/* Answered before the way closes, so a path that turns need not wait for it. */
	rx.k.ack_req = reliable;
	if (run->bytes) {
		source_from_wqe(&src, qp, tern_sq_wqe(&qp->base.sq, run->slot));
		if (!source_is_readable(&src, run->bytes, small))
			return -EFAULT;
	}
	if (rc_req_is_resent(&qp->req, run) && !qp->local.waits_for_recv)
		tern_count_add(qp->base.dev, TERN_CNT_RETRANS_PKTS, run->npkts);
	/* Before it is answered. UC: complete when sent, so only if it could be read. */
	if (reliable)
		rc_req_sent(&qp->req, now_ns, run, run->npkts);
	if (to && to != qp)
		WRITE_ONCE(to->local.short_held, run->bytes <= ROCE_LOCAL_SHORT_BYTES);
	if (to)
		deliver(to, &rx);
	if (src.refused)
		return -EFAULT;
	qp->local.waits_for_recv = src.waits;
	if (unlikely(src.waits)) {
		look_again(qp, to);
		rc_req_unsend(&qp->req, run->psn);
		return -EAGAIN;
	}
	if (!reliable)
		rc_req_sent(&qp->req, now_ns, run, run->npkts);
	if (to) {
		count(qp, &rx.k);
		if (!answer_may_wait(qp, to, run))
			fetch_answers(qp, to, &src, budget);
	}
	return 0;
}

int roce_local_respond(struct roce_qp *qp, const struct run *run, u32 *sent)
{
	struct tern_span span = {};
	struct roce_source src = { .path = &qp->path, .span = &span };
	struct roce_rx rx = { .src = &src };

	*sent = 0;
	if (run->bytes &&
	    tern_span_get(&qp->base.mem, run->rkey, run->va + run->offset, run->bytes,
			  IB_ACCESS_REMOTE_READ, &span))
		return -EFAULT;
	run_stretch(run, &rx.k);
	if (qp->local.to)
		deliver(qp->local.to, &rx);
	tern_count_add(qp->base.dev, TERN_CNT_LOCAL_BYTES, rx.k.payload_bytes);
	tern_span_put(&span);
	*sent = run->npkts;
	return 0;
}

/*
 * Datagrams wait for nobody: if the other QP is busy, or packets wait for it,
 * this one goes by the stack, and so does the rest of the batch behind it.
 */
int roce_local_datagram(struct roce_qp *qp, const struct roce_path *path, struct pkt *k,
			struct tern_send_wqe *wqe)
{
	struct roce_source src = { .path = path };
	struct roce_rx rx = { .src = &src };
	struct tern_qp *other;
	struct tern_dev *dev;

	if (qp->local.ud_wire)
		return -EAGAIN;
	dev = roce_tx_peer_dev(&qp->tx, path);
	if (!dev)
		goto wire;
	rx.k = *k;
	rx.k.npkts = 1;
	rx.k.op_flags = opcode_info(k->opcode)->flags;
	source_from_wqe(&src, qp, wqe);
	if (!roce_source_ok(&src, k->payload_bytes))
		return -EFAULT;

	other = tern_qp_lookup(dev, k->dqpn);
	if (!other || !(READ_ONCE(dev->netdev->flags) & IFF_UP))
		goto wire;	/* to be lost and counted */
	if (other != &qp->base) {
		if (!spin_trylock(&other->run_lock))
			goto wire;
		__release(&other->run_lock);
	}
	if (other->dead || !skb_queue_empty(&to_roce_qp(other)->backlog)) {
		if (other != &qp->base)
			unlock_other(qp, to_roce_qp(other));
		goto wire;
	}
	if (!path->ipv6)
		src.ip_id = qp->tx.ip_id++;
	deliver(to_roce_qp(other), &rx);
	if (!src.refused)
		count(qp, &rx.k);
	if (other != &qp->base) {
		if (other->state == IB_QPS_ERR)
			leave_work(to_roce_qp(other));
		unlock_other(qp, to_roce_qp(other));
	}
	return src.refused ? -EFAULT : 0;
wire:
	qp->local.ud_wire = true;
	return -EAGAIN;
}

const char *roce_local_name(const struct tern_qp *base)
{
	const struct roce_qp *qp = container_of(base, struct roce_qp, base);

	if (!roce_is_connected(qp))
		return NULL;
	return READ_ONCE(qp->local.req) || READ_ONCE(qp->local.resp) ? "local" : "wire";
}
