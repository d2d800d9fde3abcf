// SPDX-License-Identifier: GPL-2.0
/*
 * How much of a QP may be in the IP stack at a time, by its accounting socket, and
 * the call that says when some of it has ended. Which QP may send next is gate.c's. It
 * also bounds the received datagrams that wait for their program.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "charged.h"
#include "core/qp.h"
#include "roce/wire/net.h"
#include "roce/wire/room.h"

/* What a QP waits for. */
enum tx_waits {
	WAITS_FOR_END,		/* of any skb */
	WAITS_FOR_ROOM,		/* for a grant's worth below the QP's own limit */
	WAITS_AFTER_REFUSAL,	/* for the end of one that was in the stack at the refusal */
};

#define TX_ROOM_BYTES	(ROCE_GATE_QUEUE_BYTES - ROCE_GATE_GRANT_BYTES)

/* An skb has ended. The one that is refused ends too, and is no reason to try again. */
static bool is_waited_for(const struct sock *sk, struct roce_tx_room *room)
{
	int bytes = sk_wmem_alloc_get(sk);
	bool ended = test_and_clear_bit(WAITS_FOR_END, &room->waits);
	bool room_now = bytes <= TX_ROOM_BYTES && test_and_clear_bit(WAITS_FOR_ROOM, &room->waits);
	bool less = bytes < READ_ONCE(room->refused_at_bytes) &&
		    test_and_clear_bit(WAITS_AFTER_REFUSAL, &room->waits);

	return ended || room_now || less;
}

/*
 * sk_write_space: an skb was freed, wherever the stack does that, except for the 1 that
 * sock_wfree() takes off later. The callback lock lets roce_tx_uninit() wait for a
 * space() in progress.
 */
static void tx_write_space(struct sock *sk)
{
	struct roce_tx_room *room;

	rcu_read_lock();
	room = rcu_dereference_sk_user_data(sk);
	if (unlikely(!room))
		goto out;
	smp_mb__after_atomic();	/* sk_wmem_alloc before waits; see wait_for() */
	roce_grant_freed(&room->grant, sk);
	if (likely(!READ_ONCE(room->waits)))
		goto out;

	read_lock_bh(&sk->sk_callback_lock);
	room = rcu_dereference_sk_user_data(sk);
	if (room && is_waited_for(sk, room))
		room->grant.space(room->grant.arg);
	read_unlock_bh(&sk->sk_callback_lock);
out:
	rcu_read_unlock();
}

/*
 * Ask for space() when that comes, by the end of an skb of ours. False: it has come, or there
 * is no skb to end. Those on their end, of which each counts 1 yet, have told of it.
 */
static bool wait_for(struct roce_tx *tx, enum tx_waits what)
{
	int enough = what == WAITS_FOR_ROOM ? TX_ROOM_BYTES : ROCE_GATE_ENDS_BYTES;

	set_bit(what, &tx->room->waits);
	smp_mb__after_atomic();	/* waits before sk_wmem_alloc; see tx_write_space() */
	if (sk_wmem_alloc_get(tx->sk) > enough)
		return true;
	clear_bit(what, &tx->room->waits);
	return false;
}

int roce_tx_init(struct roce_tx *tx, const struct tern_qp *qp, void (*space)(void *arg), void *arg)
{
	struct tern_dev *dev = qp->dev;
	struct socket *sock;
	struct sock *sk;
	int err;

	memset(tx, 0, sizeof(*tx));
	tx->qp = qp;
	tx->dev = dev;
	tx->room = kzalloc(sizeof(*tx->room), TERN_GFP_CHARGED);
	if (!tx->room)
		return -ENOMEM;

	/* AF_INET accounts for IPv6 packets as well, and exists if IPv6 does not. */
	err = sock_create_kern(dev->net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err) {
		kfree(tx->room);
		memset(tx, 0, sizeof(*tx));
		return err;
	}
	roce_grant_init(&tx->room->grant, &to_roce_dev(dev)->gate, space, arg);
	sk = sock->sk;
	sk_set_txhash(sk);	/* spares the stack a flow dissection per packet */
	tx->room->default_write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, tx->room);
	WRITE_ONCE(sk->sk_write_space, tx_write_space);
	tx->sk = sk;
	return 0;
}

void roce_tx_uninit(struct roce_tx *tx)
{
	struct sock *sk = tx->sk;

	if (!sk)
		return;
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	/*
	 * Skbs may outlive us and the module. Accepted race: a context that has
	 * read the old pointer calls into the module yet. roce_net_exit() waits a
	 * grace period, which is short of proof only for a preemptible caller
	 * that stays preempted between that read and its call all the while.
	 */
	WRITE_ONCE(sk->sk_write_space, tx->room->default_write_space);
	write_unlock_bh(&sk->sk_callback_lock);
	roce_grant_uninit(&tx->room->grant);
	sk_dst_reset(sk);
	sock_release(sk->sk_socket);
	tx->sk = NULL;
	kfree_rcu(tx->room, rcu);
	tx->room = NULL;
}

/*
 * A little of a slow QP's, in one batch. What is batched already is about to be sent, and its end
 * to be told.
 */
static bool has_a_slow_ones_share(struct roce_tx *tx, u32 bytes)
{
	if (wait_for(tx, WAITS_FOR_END))
		return true;
	if (!tx->batch.head || tx->batch.payload_bytes + bytes <= ROCE_GATE_SLOW_BYTES)
		return false;
	set_bit(WAITS_FOR_END, &tx->room->waits);
	return true;
}

bool roce_tx_full(struct roce_tx *tx, u32 bytes)
{
	if (unlikely(test_bit(WAITS_AFTER_REFUSAL, &tx->room->waits)))
		return true;
	if (unlikely(roce_grant_is_slow(&tx->room->grant)) && has_a_slow_ones_share(tx, bytes))
		return true;
	/* All of it goes by one queue. */
	if (unlikely(sk_wmem_alloc_get(tx->sk) >= ROCE_GATE_QUEUE_BYTES) &&
	    wait_for(tx, WAITS_FOR_ROOM))
		return true;
	return roce_grant_must_wait(&tx->room->grant, bytes);
}

void roce_tx_refused(struct roce_tx *tx)
{
	if (tx->refusals < U32_MAX)
		tx->refusals++;
	WRITE_ONCE(tx->room->refused_at_bytes, sk_wmem_alloc_get(tx->sk));
	smp_mb__before_atomic();	/* see is_waited_for() */
	wait_for(tx, WAITS_AFTER_REFUSAL);
}

bool roce_tx_is_called(const struct roce_tx *tx)
{
	return test_bit(WAITS_AFTER_REFUSAL, &tx->room->waits);
}

void roce_tx_try_again(struct roce_tx *tx)
{
	if (test_bit(WAITS_AFTER_REFUSAL, &tx->room->waits))
		clear_bit(WAITS_AFTER_REFUSAL, &tx->room->waits);
}

void roce_tx_accepted(struct roce_tx *tx)
{
	tx->refusals = 0;
	/* What it held up goes on, of which this may have been no part. */
	if (test_bit(WAITS_AFTER_REFUSAL, &tx->room->waits) &&
	    test_and_clear_bit(WAITS_AFTER_REFUSAL, &tx->room->waits))
		tx->room->grant.space(tx->room->grant.arg);
}

static bool charge_received(struct sock *sk, struct sk_buff *skb, int max_bytes)
{
	if (skb->sk == sk)
		return true;
	if (atomic_read(&sk->sk_rmem_alloc) + (int)skb->truesize > max_bytes ||
	    !sk_rmem_schedule(sk, skb, skb->truesize))
		return false;
	skb_set_owner_r(skb, sk);
	return true;
}

bool roce_tx_charge_datagram(struct roce_tx *tx, struct sk_buff *skb)
{
	return charge_received(tx->sk, skb, READ_ONCE(tx->sk->sk_rcvbuf));
}

bool roce_tx_charge_ahead(struct roce_tx *tx, struct sk_buff *skb)
{
	return charge_received(tx->sk, skb, READ_ONCE(sock_net(tx->sk)->ipv4.sysctl_tcp_rmem[2]));
}
