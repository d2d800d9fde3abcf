// SPDX-License-Identifier: GPL-2.0
/*
 * What is in the stack counted, grants given, and taken back from QPs whose packets are
 * kept there.
 */
#include <linux/cpumask.h>
#include <linux/netdevice.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "roce/wire/gate.h"

/*
 * A QP that has nothing in the stack may send this little before those that wait, if not
 * too many do so.
 */
#define GATE_SMALL_BYTES	1024

/* Of a QP that is gone. */
#define COUNTED_OUT		-1ll

/*
 * Bytes that have not moved for this long do not count while others wait, and grants that were
 * not used for this long do not count either. (iWARP's grants are no longer either.)
 */
#define GATE_MAX		(HZ / 10)
/* Grants that the timer looks at: a thousand QPs that are stuck are found in a second or two. */
#define GATE_LOOK		128
#define GATE_LOOK_EVERY		(HZ / 10 + 1)

static s64 pack_bytes(int counted, int old)
{
	return (s64)old << 32 | counted;
}

static int counted_of(s64 in_stack)
{
	return in_stack == COUNTED_OUT ? 0 : lower_32_bits(in_stack);
}

static int old_of(s64 in_stack)
{
	return in_stack == COUNTED_OUT ? 0 : upper_32_bits(in_stack);
}

static void timer_fn(struct timer_list *timer);

void roce_gate_init(struct roce_gate *gate, struct net_device *netdev)
{
	gate->netdev = netdev;
	atomic_set(&gate->bytes, 0);
	spin_lock_init(&gate->lock);
	INIT_LIST_HEAD(&gate->waiters);
	INIT_LIST_HEAD(&gate->grants);
	timer_setup(&gate->timer, timer_fn, 0);
}

void roce_gate_uninit(struct roce_gate *gate)
{
	WARN_ON(!list_empty(&gate->grants));
	timer_delete_sync(&gate->timer);
}

void roce_grant_init(struct roce_grant *grant, struct roce_gate *gate, void (*space)(void *arg),
		     void *arg)
{
	grant->gate = gate;
	INIT_LIST_HEAD(&grant->wait);
	atomic64_set(&grant->in_stack, 0);
	atomic_set(&grant->left_bytes, 0);
	grant->slow = false;
	grant->missed = false;
	grant->space = space;
	grant->arg = arg;
	spin_lock_bh(&gate->lock);
	list_add_tail(&grant->node, &gate->grants);
	spin_unlock_bh(&gate->lock);
}

/*
 * No more than netdev has queues that are emptied side by side. If it has queues: not veth, bond.
 */
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
 * What all may have in the stack: a share for each transmit queue, of this netdev and those below
 * it. Where none has any, the CPU that sends carries on what it sent. CPUs fill no more queues than
 * there are CPUs.
 */
static int gate_budget(const struct roce_gate *gate)
{
	u32 queues = min_t(u32, num_online_cpus(), INT_MAX / 2 / ROCE_GATE_QUEUE_BYTES);
	struct netdev_nested_priv most = { .data = &queues };

	rcu_read_lock();
	limit_queues(gate->netdev, &most);
	netdev_walk_all_lower_dev_rcu(gate->netdev, limit_queues, &most);
	rcu_read_unlock();
	return queues * ROCE_GATE_QUEUE_BYTES;
}

/* Those who wait get grants, as many as there are. True: `self` is one of them, and not called. */
static bool let_in(struct roce_gate *gate, const struct roce_grant *self)
{
	bool is_in = false;
	int most;

	/* what left before the waiters; the reverse in roce_grant_ask() */
	smp_mb();
	if (likely(list_empty(&gate->waiters)))
		return false;

	spin_lock_bh(&gate->lock);
	most = gate_budget(gate) - ROCE_GATE_GRANT_BYTES;
	while (!list_empty(&gate->waiters) && atomic_read(&gate->bytes) <= most) {
		struct roce_grant *grant = list_first_entry(&gate->waiters, struct roce_grant,
							    wait);

		list_del_init(&grant->wait);
		atomic_add(ROCE_GATE_GRANT_BYTES, &gate->bytes);
		grant->given_at = jiffies;
		atomic_add(ROCE_GATE_GRANT_BYTES, &grant->left_bytes);
		if (grant != self)
			grant->space(grant->arg);
		else
			is_in = true;
	}
	spin_unlock_bh(&gate->lock);
	return is_in;
}

/* Without what skbs on their end count: else idle QPs would keep that. */
static int in_stack(const struct sock *sk)
{
	return round_down(sk_wmem_alloc_get(sk), ROCE_GATE_ENDS_BYTES + 1);
}

/* `before` bytes were on their way, `now` are. */
static void note_move(struct roce_grant *grant, int before, int now)
{
	if (before && now >= before)
		return;
	WRITE_ONCE(grant->moved, jiffies);
	if (!before)
		WRITE_ONCE(grant->began, jiffies);
	else if (unlikely(READ_ONCE(grant->slow)) && !now &&
		 time_before_eq(jiffies, READ_ONCE(grant->began) + GATE_MAX))
		WRITE_ONCE(grant->slow, false);
}

/* gate->bytes follows what is in the stack of sk's; the oldest leaves first. */
static void count_bytes(struct roce_grant *grant, const struct sock *sk)
{
	s64 before = atomic64_read(&grant->in_stack), after;
	int now, old;

	do {
		do {
			if (before == COUNTED_OUT)
				return;
			now = in_stack(sk);
			old = min(old_of(before), now);
			after = pack_bytes(now - old, old);
			/* before it counts; see count_no_more() */
			note_move(grant, counted_of(before) + old_of(before), now);
		} while (!atomic64_try_cmpxchg(&grant->in_stack, &before, after));
		if (after != before)
			atomic_add(counted_of(after) - counted_of(before), &grant->gate->bytes);
		before = after;
		/* another context that has counted meanwhile finds the difference here, or we do */
	} while (unlikely(in_stack(sk) != now));
}

/* So much of what was granted is used, or not needed. The timer may be quicker. */
static void give_back(struct roce_grant *grant, int bytes)
{
	int left = atomic_read(&grant->left_bytes), n;

	do {
		n = min(left, bytes);
		if (!n)
			return;
	} while (!atomic_try_cmpxchg(&grant->left_bytes, &left, left - n));
	atomic_sub(n, &grant->gate->bytes);
}

/* ---- what is kept ---- */

/* gate->lock held. */
static void count_no_more(struct roce_grant *grant)
{
	s64 before = atomic64_read(&grant->in_stack);

	do {
		smp_rmb();	/* in_stack before moved; count_bytes() writes that first */
		if (!counted_of(before) ||
		    time_before_eq(jiffies, READ_ONCE(grant->moved) + GATE_MAX))
			return;
	} while (!atomic64_try_cmpxchg(&grant->in_stack, &before,
				       pack_bytes(0, counted_of(before) + old_of(before))));
	atomic_sub(counted_of(before), &grant->gate->bytes);
	WRITE_ONCE(grant->slow, true);
}

static void timer_fn(struct timer_list *timer)
{
	struct roce_gate *gate = timer_container_of(gate, timer, timer);
	struct roce_grant *grant;
	u32 look = GATE_LOOK;

	spin_lock_bh(&gate->lock);
	list_for_each_entry(grant, &gate->grants, node) {
		if (!look--) {
			list_rotate_to_front(&grant->node, &gate->grants);
			break;
		}
		count_no_more(grant);
		if (atomic_read(&grant->left_bytes) &&
		    time_after(jiffies, grant->given_at + GATE_MAX)) {
			give_back(grant, INT_MAX);
			grant->missed = true;
		}
	}
	if (!list_empty(&gate->waiters))
		mod_timer(&gate->timer, jiffies + GATE_LOOK_EVERY);
	spin_unlock_bh(&gate->lock);
	let_in(gate, NULL);
}

void roce_grant_uninit(struct roce_grant *grant)
{
	struct roce_gate *gate = grant->gate;
	int counted = counted_of(atomic64_xchg(&grant->in_stack, COUNTED_OUT));

	spin_lock_bh(&gate->lock);
	list_del_init(&grant->wait);
	list_del(&grant->node);
	spin_unlock_bh(&gate->lock);
	atomic_sub(counted, &gate->bytes);
	give_back(grant, INT_MAX);
	let_in(gate, NULL);
}

bool roce_grant_ask(struct roce_grant *grant, u32 bytes)
{
	struct roce_gate *gate = grant->gate;
	int room;

	if (atomic_read(&grant->left_bytes) > 0)
		return false;
	room = gate_budget(gate) - atomic_read(&gate->bytes);
	if (room > 0 && list_empty(&gate->waiters))
		return false;
	if (bytes <= GATE_SMALL_BYTES && !atomic64_read(&grant->in_stack) &&
	    room > -ROCE_GATE_GRANT_BYTES)
		return false;

	spin_lock_bh(&gate->lock);
	if (list_empty(&grant->wait) && !atomic_read(&grant->left_bytes)) {
		/* Its CPU was busy. Behind all others it might miss every grant that it gets. */
		if (grant->missed)
			list_add(&grant->wait, &gate->waiters);
		else
			list_add_tail(&grant->wait, &gate->waiters);
		grant->missed = false;
	}
	if (!timer_pending(&gate->timer))
		mod_timer(&gate->timer, jiffies + GATE_LOOK_EVERY);
	spin_unlock_bh(&gate->lock);
	/* If it is, the timer may have taken it back by now, and no call comes. */
	return !let_in(gate, grant) && atomic_read(&grant->left_bytes) <= 0;
}

void roce_grant_sends(struct roce_grant *grant, const struct sock *sk, u32 truesize)
{
	int left = atomic_read(&grant->left_bytes);

	count_bytes(grant, sk);
	if (unlikely(left))
		give_back(grant, truesize);
}

void roce_grant_freed(struct roce_grant *grant, const struct sock *sk)
{
	count_bytes(grant, sk);
	let_in(grant->gate, NULL);
}

void roce_grant_give_back(struct roce_grant *grant)
{
	give_back(grant, INT_MAX);
	let_in(grant->gate, NULL);
}
