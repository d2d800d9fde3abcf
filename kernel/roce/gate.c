// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/netdevice.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "roce/gate.h"

/*
 * A QP that has nothing in the stack may send so little before those who wait, if not
 * too many do so.
 */
#define GATE_SMALL_BYTES	1024

/* Of a QP that is gone. */
#define COUNTED_OUT		INT_MIN

void roce_gate_init(struct roce_gate *gate, struct net_device *netdev)
{
	gate->netdev = netdev;
	atomic_set(&gate->bytes, 0);
	spin_lock_init(&gate->lock);
	INIT_LIST_HEAD(&gate->waiters);
}

void roce_turn_init(struct roce_turn *turn, struct roce_gate *gate, void (*space)(void *arg),
		    void *arg)
{
	turn->gate = gate;
	INIT_LIST_HEAD(&turn->wait);
	atomic_set(&turn->counted, 0);
	atomic_set(&turn->granted, 0);
	turn->space = space;
	turn->arg = arg;
}

/* No more than netdev has queues that are emptied side by side. If it has queues: not veth, bond. */
static int limit_queues(struct net_device *netdev, struct netdev_nested_priv *most)
{
	const struct Qdisc *qdisc = rcu_dereference(netdev_get_tx_queue(netdev, 0)->qdisc);
	u32 n = READ_ONCE(netdev->real_num_tx_queues);
	u32 *queues = most->data;

	/* As dev_queue_xmit() finds out */
	if (!qdisc->enqueue)
		return 0;
	/* tbf, say, as the root: one for all */
	if (n > 1 && rcu_access_pointer(netdev_get_tx_queue(netdev, 1)->qdisc) == qdisc)
		n = 1;
	*queues = min(*queues, n);
	return 0;
}

/*
 * What all may have in the stack: so much a transmit queue, of this netdev and those below it.
 * Where none has any, the CPU that sends carries on what it sent. More queues than CPUs nobody
 * fills.
 */
static int budget(const struct roce_gate *gate)
{
	u32 queues = min_t(u32, num_online_cpus(), INT_MAX / 2 / ROCE_GATE_QUEUE_BYTES);
	struct netdev_nested_priv most = { .data = &queues };

	rcu_read_lock();
	limit_queues(gate->netdev, &most);
	netdev_walk_all_lower_dev_rcu(gate->netdev, limit_queues, &most);
	rcu_read_unlock();
	return queues * ROCE_GATE_QUEUE_BYTES;
}

/* Those whose turn it is go on; `self` is told by what it is granted. */
static void let_in(struct roce_gate *gate, const struct roce_turn *self)
{
	int most;

	/* what left before who waits; the reverse in roce_turn_waits() */
	smp_mb();
	if (likely(list_empty(&gate->waiters)))
		return;

	spin_lock_bh(&gate->lock);
	most = budget(gate) - ROCE_GATE_TURN_BYTES;
	while (!list_empty(&gate->waiters) && atomic_read(&gate->bytes) <= most) {
		struct roce_turn *turn = list_first_entry(&gate->waiters, struct roce_turn, wait);

		list_del_init(&turn->wait);
		atomic_add(ROCE_GATE_TURN_BYTES, &gate->bytes);
		atomic_add(ROCE_GATE_TURN_BYTES, &turn->granted);
		if (turn != self)
			turn->space(turn->arg);
	}
	spin_unlock_bh(&gate->lock);
}

/* Without what skbs on their end count: else idle QPs would keep that. */
static int in_stack(const struct sock *sk)
{
	return round_down(sk_wmem_alloc_get(sk), ROCE_GATE_ENDS_BYTES + 1);
}

/* gate->bytes follows what is in the stack of sk's. */
static void count(struct roce_turn *turn, const struct sock *sk)
{
	int before = atomic_read(&turn->counted);
	int now;

	do {
		do {
			if (before == COUNTED_OUT)
				return;
			now = in_stack(sk);
		} while (!atomic_try_cmpxchg(&turn->counted, &before, now));
		if (now != before)
			atomic_add(now - before, &turn->gate->bytes);
		before = now;
		/* who has counted less, or more, meanwhile finds that here, or we do */
	} while (unlikely(in_stack(sk) != now));
}

/* So much of what was granted is used, or not needed. */
static void give_back(struct roce_turn *turn, int bytes)
{
	atomic_sub(bytes, &turn->granted);
	atomic_sub(bytes, &turn->gate->bytes);
}

void roce_turn_uninit(struct roce_turn *turn)
{
	struct roce_gate *gate = turn->gate;
	int counted = atomic_xchg(&turn->counted, COUNTED_OUT);

	spin_lock_bh(&gate->lock);
	list_del_init(&turn->wait);
	spin_unlock_bh(&gate->lock);
	atomic_sub(counted, &gate->bytes);
	give_back(turn, atomic_read(&turn->granted));
	let_in(gate, NULL);
}

bool roce_turn_waits(struct roce_turn *turn, u32 bytes)
{
	struct roce_gate *gate = turn->gate;
	int room;

	/* No less than that is the budget of any netdev. */
	if (likely(list_empty(&gate->waiters) &&
		   atomic_read(&gate->bytes) < ROCE_GATE_QUEUE_BYTES))
		return false;
	if (atomic_read(&turn->granted) > 0)
		return false;
	room = budget(gate) - atomic_read(&gate->bytes);
	if (room > 0 && list_empty(&gate->waiters))
		return false;
	if (bytes <= GATE_SMALL_BYTES && !atomic_read(&turn->counted) && room > -ROCE_GATE_TURN_BYTES)
		return false;

	spin_lock_bh(&gate->lock);
	if (list_empty(&turn->wait) && !atomic_read(&turn->granted))
		list_add_tail(&turn->wait, &gate->waiters);
	spin_unlock_bh(&gate->lock);
	let_in(gate, turn);
	return atomic_read(&turn->granted) <= 0;
}

void roce_turn_sends(struct roce_turn *turn, const struct sock *sk, u32 truesize)
{
	int granted = atomic_read(&turn->granted);

	count(turn, sk);
	if (unlikely(granted))
		give_back(turn, min_t(int, granted, truesize));
}

void roce_turn_freed(struct roce_turn *turn, const struct sock *sk)
{
	count(turn, sk);
	let_in(turn->gate, NULL);
}

void roce_turn_end(struct roce_turn *turn)
{
	int granted = atomic_read(&turn->granted);

	if (likely(!granted))
		return;
	give_back(turn, granted);
	let_in(turn->gate, NULL);
}
