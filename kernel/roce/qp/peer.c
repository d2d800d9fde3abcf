// SPDX-License-Identifier: GPL-2.0
/*
 * The second run lock taken, handed on, let go of. Sparse cannot follow a lock that is handed
 * on: it is told that it was let go of.
 */
#include "core/qp.h"
#include "core/stats.h"
#include "core/trace.h"
#include "roce/qp/lock.h"
#include "roce/qp/peer.h"
#include "roce/wire/route.h"

/* False: another context has it, and runs qp when it lets go of it. */
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
	roce_wait_for(qp, other);
	/* Pairs with the barrier between an unlock and the look for waiters. */
	smp_mb();
	if (!spin_trylock(&other->base.run_lock))
		return false;
	__release(&other->base.run_lock);
	roce_wait_no_more(qp);
	return true;
}

void roce_peer_unlock(struct roce_qp *qp, struct roce_qp *other)
{
	other->now_ns = 0;
	WRITE_ONCE(other->local.short_held, false);
	__acquire(&other->base.run_lock);
	if (roce_run_unlock(other, &qp->local.next) && refcount_inc_not_zero(&other->base.ref))
		roce_run_after(other, &qp->local.next);
}

/* What a QP of this type can be connected to. */
static enum ib_qp_type peer_type(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_XRC_INI:
		return IB_QPT_XRC_TGT;
	case IB_QPT_XRC_TGT:
		return IB_QPT_XRC_INI;
	default:
		return type;
	}
}

/*
 * Do both name each other? A packet does not say which QP sent it, so by the wire a sender that
 * has the peer's address and knows QPN and PSN is taken for the peer. Here it is known.
 * While the other is not locked it may just become one, or cease to be.
 */
static bool is_peer(const struct roce_qp *qp, const struct roce_qp *other)
{
	/* What is old here costs a run, as a packet lost would. */
	u32 named = data_race(other->base.attr.dest_qp_num);

	return other->base.type == peer_type(qp->base.type) && named == qp->base.qpn;
}

/* No packet: without opcode and PSN. */
static void note_no_peer(const struct roce_qp *qp, struct tern_dev *dev, bool exists)
{
	tern_count(dev, exists ? TERN_CNT_RX_BAD_PATH : TERN_CNT_RX_NO_QP);
	trace_tern_rx_drop(dev, qp->base.attr.dest_qp_num, 0, 0,
			   exists ? TERN_DROP_PEER : TERN_DROP_NO_QP);
}

/*
 * qp's peer on dev, locked besides qp (which it may be). NULL: there is none that
 * would take anything from it. False: busy.
 */
static bool find_other(struct roce_qp *qp, struct tern_dev *dev, struct roce_qp **other)
{
	struct tern_qp *base;
	struct roce_qp *to;

	*other = NULL;
	/* as wire/rx.c */
	if (!(READ_ONCE(dev->netdev->flags) & IFF_UP))
		return true;
	base = tern_qp_lookup(dev, qp->base.attr.dest_qp_num);
	if (!base) {
		note_no_peer(qp, dev, false);
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
		roce_peer_unlock(qp, to);
	}
	note_no_peer(qp, dev, !READ_ONCE(base->dead));
	return true;
}

bool roce_peer_open(struct roce_qp *qp, struct tern_dev *dev)
{
	struct roce_qp *to;

	if (!find_other(qp, dev, &to))
		return false;
	qp->local.to = to;
	qp->local.open = true;
	return true;
}

void roce_peer_shut(struct roce_qp *qp)
{
	struct roce_qp *to = qp->local.to;

	qp->local.open = false;
	qp->local.to = NULL;
	if (to && to != qp)
		roce_peer_unlock(qp, to);
}

void roce_peer_call(struct roce_qp *qp)
{
	struct tern_dev *dev = roce_tx_peer_dev(&qp->tx, &qp->path);
	struct tern_qp *base = dev ? tern_qp_lookup(dev, qp->base.attr.dest_qp_num) : NULL;

	if (base && base != &qp->base && refcount_inc_not_zero(&base->ref))
		roce_run_after(to_roce_qp(base), &qp->local.next);
}
