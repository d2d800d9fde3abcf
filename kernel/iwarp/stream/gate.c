// SPDX-License-Identifier: GPL-2.0
/*
 * Which of a device's QPs may write to TCP: see gate.h. What they write is tx.c's decision.
 */
#include <linux/cpumask.h>
#include <net/tcp.h>

#include "core/trace.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/gate.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/tcp.h"

/* Bytes of a grant: a large batch. */
#define GATE_GRANT_BYTES	(128 << 10)
/*
 * All grants at a time, per CPU: enough that no netdev runs dry while one follows another, and so
 * few that each QP writes all of its grant at once. One of many would write some whenever some is
 * acknowledged. Half of it in packets of 1500 bytes, so that a ring has room for all of them, often
 * 256.
 */
#define GATE_ALL_BYTES		(512 << 10)
#define GATE_ALL_PACKETS_BYTES	(256 << 10)
/*
 * And what all holders may have under way together, and each at least. More waits somewhere, in
 * pages that are new or no longer in the cache, unless the path takes it: twice what the path takes
 * is never too much.
 */
#define GATE_UNDER_WAY		(512 << 10)
#define GATE_UNDER_WAY_LEAST	(128 << 10)
/* One of ours at the other end acknowledges the half of it (proto/iw_ack.h). */
static_assert(GATE_UNDER_WAY >= 2 * IW_ACK_MOST && GATE_UNDER_WAY_LEAST >= 2 * IW_ACK_LEAST);
/*
 * With no more than this in the stack (truesize) a QP's grant is over, and it may write without
 * one.
 */
#define GATE_IN_STACK_BYTES	4096
/* It may write no more than this at a time without one. */
#define GATE_SMALL_BYTES	2048
/* A grant is no longer than this, whatever keeps it in the stack. */
#define GATE_GRANT_TICKS	(HZ / 10)
/* A context that comes by looks at this number of holders, in rotation: many CPUs have many. */
#define GATE_LOOK		32

static struct iw_qp *qp_of(struct iw_grant *grant)
{
	return container_of(grant, struct iw_qp, grant);
}

/* gate->lock held. */
static u32 max_grants(const struct iw_gate *gate)
{
	u32 bytes = iw_sends_packets(gate->netdev) ? GATE_ALL_PACKETS_BYTES : GATE_ALL_BYTES;

	return bytes / GATE_GRANT_BYTES * num_online_cpus();
}

static bool is_over(struct iw_grant *grant)
{
	/* Its work item may be late, but it runs. */
	if (smp_load_acquire(&grant->told))
		return false;
	if (time_after(jiffies, READ_ONCE(grant->since) + GATE_GRANT_TICKS))
		return true;
	return !READ_ONCE(grant->writing) &&
	       sk_wmem_alloc_get(qp_of(grant)->sk) <= GATE_IN_STACK_BYTES;
}

static void wait_in_line(struct iw_grant *grant)
{
	if (grant->state == IW_GRANT_NONE)
		grant->gate->num_asking++;
	list_move_tail(&grant->link, &grant->gate->waiters);
	WRITE_ONCE(grant->state, IW_GRANT_WAITS);
}

static void give_grant(struct iw_grant *grant)
{
	list_move_tail(&grant->link, &grant->gate->holders);
	grant->gate->num_holders++;
	grant->gate->num_asking--;
	WRITE_ONCE(grant->since, jiffies);
	grant->end = 0;
	WRITE_ONCE(grant->state, IW_GRANT_HELD);
}

static void take_back_grant(struct iw_grant *grant)
{
	grant->gate->num_holders--;
	if (grant->state == IW_GRANT_USED_UP) {
		wait_in_line(grant);
		return;
	}
	list_del_init(&grant->link);
	WRITE_ONCE(grant->state, IW_GRANT_NONE);
}

/*
 * Grants that are over go to those who wait. The caller looks at its own grant, `self`, which is
 * not told. The next look begins where this one ended. gate->lock held.
 */
static void pass_grants(struct iw_gate *gate, const struct iw_grant *self, u32 look)
{
	struct iw_grant *grant, *next;

	list_for_each_entry_safe(grant, next, &gate->holders, link) {
		if (!look--) {
			list_rotate_to_front(&grant->link, &gate->holders);
			break;
		}
		if (is_over(grant))
			take_back_grant(grant);
	}
	while (!list_empty(&gate->waiters) && gate->num_holders < max_grants(gate)) {
		grant = list_first_entry(&gate->waiters, struct iw_grant, link);
		give_grant(grant);
		if (grant == self)
			continue;
		WRITE_ONCE(grant->told, true);
		trace_tern_gate_go(&qp_of(grant)->base);
		iw_defer_run(qp_of(grant));
	}
	if (gate->num_asking && !timer_pending(&gate->timer))
		mod_timer(&gate->timer, jiffies + 1);
}

static void pass_grants_later(struct timer_list *timer)
{
	struct iw_gate *gate = timer_container_of(gate, timer, timer);

	spin_lock_bh(&gate->lock);
	pass_grants(gate, NULL, U32_MAX);
	spin_unlock_bh(&gate->lock);
}

void iw_gate_init(struct iw_gate *gate, const struct net_device *netdev)
{
	gate->netdev = netdev;
	spin_lock_init(&gate->lock);
	INIT_LIST_HEAD(&gate->holders);
	INIT_LIST_HEAD(&gate->waiters);
	gate->num_holders = 0;
	gate->num_asking = 0;
	timer_setup(&gate->timer, pass_grants_later, 0);
}

void iw_gate_uninit(struct iw_gate *gate)
{
	WARN_ON(!list_empty(&gate->holders) || !list_empty(&gate->waiters));
	WARN_ON(gate->num_holders || gate->num_asking);
	timer_delete_sync(&gate->timer);
}

void iw_grant_init(struct iw_grant *grant, struct iw_gate *gate)
{
	grant->gate = gate;
	INIT_LIST_HEAD(&grant->link);
}

void iw_grant_uninit(struct iw_grant *grant)
{
	struct iw_gate *gate = grant->gate;

	spin_lock_bh(&gate->lock);
	if (grant->state == IW_GRANT_HELD || grant->state == IW_GRANT_USED_UP)
		gate->num_holders--;
	if (grant->state == IW_GRANT_WAITS || grant->state == IW_GRANT_USED_UP)
		gate->num_asking--;
	list_del_init(&grant->link);
	grant->state = IW_GRANT_NONE;
	pass_grants(gate, NULL, GATE_LOOK);
	spin_unlock_bh(&gate->lock);
}

void iw_grant_begin(struct iw_grant *grant)
{
	WRITE_ONCE(grant->writing, true);
	if (likely(!READ_ONCE(grant->told)))
		return;
	WRITE_ONCE(grant->since, jiffies);
	smp_store_release(&grant->told, false);
}

void iw_grant_end(struct iw_grant *grant)
{
	struct iw_gate *gate = grant->gate;

	WRITE_ONCE(grant->writing, false);
	/* A QP that begins to ask just now looks again, by the timer at the latest. */
	if (likely(!READ_ONCE(gate->num_asking)))
		return;
	/* An acknowledgement starts a run, which sees whether the grant is over. */
	if (READ_ONCE(grant->state) != IW_GRANT_NONE)
		set_bit(SOCK_NOSPACE, &qp_of(grant)->sk->sk_socket->flags);
	spin_lock_bh(&gate->lock);
	pass_grants(gate, NULL, GATE_LOOK);
	spin_unlock_bh(&gate->lock);
}

/* Neither much in the stack, nor anything that TCP has not sent. */
static bool is_nearly_idle(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->write_seq) == tcp_sk(sk)->snd_nxt &&
	       sk_wmem_alloc_get(sk) <= GATE_IN_STACK_BYTES;
}

/* What a QP may have under way at the end of its grant if nobody waits for one. */
static u64 most_under_way(const struct iw_grant *grant, const struct tcp_sock *tp)
{
	u32 holders = READ_ONCE(grant->gate->num_holders);

	if (holders < 2 || !tp->rate_interval_us)
		return U64_MAX;
	return max3((u64)GATE_UNDER_WAY / holders, (u64)GATE_UNDER_WAY_LEAST,
		    2 * iw_path_bytes(tp));
}

static bool has_much_under_way(const struct iw_grant *grant, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->write_seq - tp->snd_una >= most_under_way(grant, tp);
}

/* Without a grant, or at its end. True: the QP has to wait. */
static bool ask_for_grant(struct iw_grant *grant, u64 pos)
{
	struct iw_gate *gate = grant->gate;
	bool waits;

	spin_lock_bh(&gate->lock);
	if (grant->state == IW_GRANT_HELD && list_empty(&gate->waiters)) {
		WRITE_ONCE(grant->since, jiffies);
	} else if (grant->state == IW_GRANT_HELD) {
		WRITE_ONCE(grant->state, IW_GRANT_USED_UP);
		gate->num_asking++;
	} else if (grant->state == IW_GRANT_NONE) {
		wait_in_line(grant);
	}
	pass_grants(gate, grant, GATE_LOOK);
	waits = grant->state != IW_GRANT_HELD;
	grant->end = pos + GATE_GRANT_BYTES;
	spin_unlock_bh(&gate->lock);
	return waits;
}

bool iw_grant_must_wait(struct iw_grant *grant, u32 bytes)
{
	const struct iw_qp *qp = qp_of(grant);
	u64 pos = qp->tx.pos;

	switch (READ_ONCE(grant->state)) {
	case IW_GRANT_HELD:
		if (unlikely(!grant->end))
			grant->end = pos + GATE_GRANT_BYTES;
		if (likely((s64)(pos - grant->end) < 0))
			return false;
		if (has_much_under_way(grant, qp->sk))
			return true;
		break;
	case IW_GRANT_NONE:
		if (qp->tx.unsent + bytes <= GATE_SMALL_BYTES && is_nearly_idle(qp->sk))
			return false;
		break;
	default:
		return true;
	}
	return ask_for_grant(grant, pos);
}
