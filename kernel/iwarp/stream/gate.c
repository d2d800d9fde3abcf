// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <net/tcp.h>

#include "iwarp/iwarp.h"

/*
 * Of a turn: large batches, but in so many turns that TCP keeps what it knows of the
 * path. A stream that has sent nothing for its retransmission timeout, TCP_RTO_MIN
 * or a little more, begins again with ten segments, at most five at a time (RFC 5681
 * 4.1): turns are halved if QPs wait so long, and doubled if a quarter of it.
 */
#define GATE_TURN_LEAST		(32 << 10)
#define GATE_TURN_MOST		(128 << 10)
#define GATE_WAIT_LONG		TCP_RTO_MIN
#define GATE_WAIT_SHORT		(TCP_RTO_MIN / 4)
/*
 * All turns at a time, of a CPU: enough that no netdev runs dry while one follows another.
 * Of 32 KiB that is 16, of 128 KiB four: who waits in line writes all of a turn at once
 * then, where one of many would write some whenever some is acknowledged. Half of it in
 * packets of 1500 bytes, so that a ring has room for all of them, 256 often.
 */
#define GATE_TURNS_BYTES	(512 << 10)
#define GATE_TURNS_PACKETS	(256 << 10)
/*
 * And what all who have turns may have under way together, and each at least. More waits
 * somewhere, in pages that are new or no longer in the cache, unless the path takes it:
 * twice what it does is never too much.
 */
#define GATE_UNDER_WAY		(512 << 10)
#define GATE_UNDER_WAY_LEAST	(128 << 10)
/* One of ours at the other end acknowledges the half of it (proto/iw_ack.h). */
static_assert(GATE_UNDER_WAY >= 2 * IW_ACK_MOST && GATE_UNDER_WAY_LEAST >= 2 * IW_ACK_LEAST);
/* So much may be in the stack of a QP's that has no turn, or has had one: truesize. */
#define GATE_LITTLE_BYTES	4096
/* And so much may a QP write without one, if it has little there, or of a message beyond its end. */
#define GATE_SMALL_BYTES	2048
/*
 * But of QPs that the peer has sent nothing since they did, so many only, of a CPU, in a tick. If
 * there are more, and each writes whenever it has a packet's worth, all are slower, for there is
 * an ACK for each packet: with turns they write together what was posted meanwhile.
 */
#define GATE_LITTLE_QPS		4
/* A turn is no longer than that, whatever keeps it in the stack. */
#define GATE_TURN_MAX		(HZ / 10)
/* Who comes by looks at so many holders, round and round: on many CPUs there are many. */
#define GATE_LOOK		32

static struct iw_qp *qp_of(struct iw_turn *turn)
{
	return container_of(turn, struct iw_qp, turn);
}

/* gate->lock held. */
static u32 max_turns(const struct iw_gate *gate)
{
	u32 bytes = iw_sends_packets(gate->netdev) ? GATE_TURNS_PACKETS : GATE_TURNS_BYTES;

	return bytes / gate->turn_bytes * num_online_cpus();
}

static bool is_over(struct iw_turn *turn)
{
	/* Its work item may be late, and is sure to run. */
	if (smp_load_acquire(&turn->told))
		return false;
	if (time_after(jiffies, READ_ONCE(turn->since) + GATE_TURN_MAX))
		return true;
	return !READ_ONCE(turn->writing) && sk_wmem_alloc_get(qp_of(turn)->sk) <= GATE_LITTLE_BYTES;
}

static void wait_in_line(struct iw_turn *turn)
{
	if (turn->state == IW_TURN_NONE)
		turn->gate->num_asking++;
	list_move_tail(&turn->link, &turn->gate->waiters);
	WRITE_ONCE(turn->since, jiffies);
	WRITE_ONCE(turn->state, IW_TURN_WAITS);
}

/* For those to come, now that one has waited so long, in jiffies. */
static void fit_turns(struct iw_gate *gate, unsigned long waited)
{
	u32 bytes = gate->turn_bytes;

	if (waited > GATE_WAIT_LONG && bytes > GATE_TURN_LEAST)
		WRITE_ONCE(gate->turn_bytes, bytes / 2);
	else if (waited < GATE_WAIT_SHORT && bytes < GATE_TURN_MOST)
		WRITE_ONCE(gate->turn_bytes, bytes * 2);
}

static void give_turn(struct iw_turn *turn)
{
	fit_turns(turn->gate, jiffies - turn->since);
	list_move_tail(&turn->link, &turn->gate->holders);
	turn->gate->num_holders++;
	turn->gate->num_asking--;
	WRITE_ONCE(turn->since, jiffies);
	turn->end = 0;
	WRITE_ONCE(turn->state, IW_TURN_HAS);
}

static void take_turn(struct iw_turn *turn)
{
	turn->gate->num_holders--;
	if (turn->state == IW_TURN_USED_UP) {
		wait_in_line(turn);
		return;
	}
	list_del_init(&turn->link);
	WRITE_ONCE(turn->state, IW_TURN_NONE);
}

/*
 * Turns that are over go to those who wait; `self` sees itself. Who looks next begins
 * where this one ended. gate->lock held.
 */
static void pass_on(struct iw_gate *gate, const struct iw_turn *self, u32 look)
{
	struct iw_turn *turn, *next;

	list_for_each_entry_safe(turn, next, &gate->holders, link) {
		if (!look--) {
			list_rotate_to_front(&turn->link, &gate->holders);
			break;
		}
		if (is_over(turn))
			take_turn(turn);
	}
	while (!list_empty(&gate->waiters) && gate->num_holders < max_turns(gate)) {
		turn = list_first_entry(&gate->waiters, struct iw_turn, link);
		give_turn(turn);
		if (turn == self)
			continue;
		WRITE_ONCE(turn->told, true);
		queue_work(iw_wq, &qp_of(turn)->work);
	}
	if (gate->num_asking && !timer_pending(&gate->timer))
		mod_timer(&gate->timer, jiffies + 1);
}

static void timer_fn(struct timer_list *timer)
{
	struct iw_gate *gate = timer_container_of(gate, timer, timer);

	spin_lock_bh(&gate->lock);
	pass_on(gate, NULL, U32_MAX);
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
	gate->turn_bytes = GATE_TURN_MOST;
	gate->little_tick = (u32)jiffies;
	gate->num_little = 0;
	timer_setup(&gate->timer, timer_fn, 0);
}

void iw_gate_uninit(struct iw_gate *gate)
{
	WARN_ON(!list_empty(&gate->holders) || !list_empty(&gate->waiters));
	WARN_ON(gate->num_holders || gate->num_asking);
	timer_delete_sync(&gate->timer);
}

void iw_turn_init(struct iw_turn *turn, struct iw_gate *gate)
{
	turn->gate = gate;
	INIT_LIST_HEAD(&turn->link);
}

void iw_turn_uninit(struct iw_turn *turn)
{
	struct iw_gate *gate = turn->gate;

	spin_lock_bh(&gate->lock);
	if (turn->state == IW_TURN_HAS || turn->state == IW_TURN_USED_UP)
		gate->num_holders--;
	if (turn->state == IW_TURN_WAITS || turn->state == IW_TURN_USED_UP)
		gate->num_asking--;
	list_del_init(&turn->link);
	turn->state = IW_TURN_NONE;
	pass_on(gate, NULL, GATE_LOOK);
	spin_unlock_bh(&gate->lock);
}

void iw_turn_begin(struct iw_turn *turn)
{
	WRITE_ONCE(turn->writing, true);
	if (likely(!READ_ONCE(turn->told)))
		return;
	WRITE_ONCE(turn->since, jiffies);
	smp_store_release(&turn->told, false);
}

void iw_turn_end(struct iw_turn *turn)
{
	struct iw_gate *gate = turn->gate;

	WRITE_ONCE(turn->writing, false);
	/* who begins to ask just now looks again, by the timer at the latest */
	if (likely(!READ_ONCE(gate->num_asking)))
		return;
	/* what is acknowledged brings us back, to see whether the turn is over */
	if (READ_ONCE(turn->state) != IW_TURN_NONE)
		set_bit(SOCK_NOSPACE, &qp_of(turn)->sk->sk_socket->flags);
	spin_lock_bh(&gate->lock);
	pass_on(gate, NULL, GATE_LOOK);
	spin_unlock_bh(&gate->lock);
}

/* Neither much in the stack, nor anything that TCP has not sent. */
static bool has_little(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->write_seq) == tcp_sk(sk)->snd_nxt &&
	       sk_wmem_alloc_get(sk) <= GATE_LITTLE_BYTES;
}

/* Has it been answered since, or is it one of few? (Of some more, if CPUs count at the same time.) */
static bool may_write_little(struct iw_turn *turn)
{
	u32 now = (u32)jiffies, came = qp_of(turn)->ack.came;
	struct iw_gate *gate = turn->gate;

	if (turn->little_tick == now)
		return true;
	if (turn->came == came) {
		if (READ_ONCE(gate->little_tick) != now) {
			WRITE_ONCE(gate->little_tick, now);
			WRITE_ONCE(gate->num_little, 0);
		}
		if (READ_ONCE(gate->num_little) >= GATE_LITTLE_QPS * num_online_cpus())
			return false;
		WRITE_ONCE(gate->num_little, gate->num_little + 1);
	}
	turn->came = came;
	turn->little_tick = now;
	return true;
}

/* What a QP may have under way at the end of its turn if nobody waits for one. */
static u64 most_under_way(const struct iw_turn *turn, const struct tcp_sock *tp)
{
	u32 holders = READ_ONCE(turn->gate->num_holders);

	if (holders < 2 || !tp->rate_interval_us)
		return U64_MAX;
	return max3((u64)GATE_UNDER_WAY / holders, (u64)GATE_UNDER_WAY_LEAST,
		    2 * iw_path_bytes(tp));
}

static bool has_much_under_way(const struct iw_turn *turn, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->write_seq - tp->snd_una >= most_under_way(turn, tp);
}

/*
 * Is that the little that a message has left? In the middle of one TCP keeps back what does not
 * fill a segment until an ACK comes: another doorbell for one packet, and an ACK of its own.
 */
static bool ends_message(const struct iw_qp *qp, u32 bytes)
{
	return bytes <= GATE_SMALL_BYTES && iw_sends_packets(qp->base.dev->netdev) &&
	       (iw_req_in_message(&qp->req) || iw_resp_in_message(&qp->resp));
}

/* Without a turn, or at its end. */
static bool ask(struct iw_turn *turn, u64 pos)
{
	struct iw_gate *gate = turn->gate;
	bool waits;

	spin_lock_bh(&gate->lock);
	if (turn->state == IW_TURN_HAS && list_empty(&gate->waiters)) {
		WRITE_ONCE(turn->since, jiffies);
	} else if (turn->state == IW_TURN_HAS) {
		WRITE_ONCE(turn->state, IW_TURN_USED_UP);
		gate->num_asking++;
	} else if (turn->state == IW_TURN_NONE) {
		wait_in_line(turn);
	}
	pass_on(gate, turn, GATE_LOOK);
	waits = turn->state != IW_TURN_HAS;
	turn->end = pos + gate->turn_bytes;
	spin_unlock_bh(&gate->lock);
	return waits;
}

bool iw_turn_waits(struct iw_turn *turn, u32 bytes)
{
	const struct iw_qp *qp = qp_of(turn);
	u64 pos = qp->tx.pos;

	switch (READ_ONCE(turn->state)) {
	case IW_TURN_HAS:
		if (unlikely(!turn->end))
			turn->end = pos + READ_ONCE(turn->gate->turn_bytes);
		if (likely((s64)(pos - turn->end) < 0))
			return false;
		if (ends_message(qp, bytes))
			return false;
		if (has_much_under_way(turn, qp->sk))
			return true;
		break;
	case IW_TURN_NONE:
		if (qp->tx.unsent + bytes <= GATE_SMALL_BYTES && has_little(qp->sk) &&
		    may_write_little(turn))
			return false;
		break;
	default:
		return true;
	}
	return ask(turn, pos);
}
