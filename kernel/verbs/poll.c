// SPDX-License-Identifier: GPL-2.0
/*
 * The polling thread of a device, which its file poll_us makes: as long as there
 * is traffic it looks at the send queues of QPs that rang, so that their posters
 * need no system call, and into the NAPIs that the device's packets come by, so
 * that these do not wait for an interrupt. What it finds it runs as a doorbell or
 * the interrupt would have. Found nothing for poll_us, it sleeps until a doorbell.
 *
 * A user QP joins when it rings, and DRAINING then stays set in its ring. It
 * leaves when nothing was posted for poll_us, or it is not in RTS any more. Only
 * the thread takes it off its list. It has references to the QP and to the ring,
 * so nobody who resets or destroys the QP waits for it, or is waited for. Kernel
 * QPs ring anyway; they just wake it.
 */
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sysfs.h>
#include <net/busy_poll.h>

#include "verbs/verbs.h"

#define POLL_MAX_US	1000000

/* ---- QPs ---- */

/* run_lock held, and poll->lock: nobody joins once poll_us is 0. */
static void take_on(struct tern_poll *poll, struct tern_qp *qp)
{
	refcount_inc(&qp->ref);
	tern_ring_get(qp->sq.ring);
	qp->poll.ring = qp->sq.ring;
	/* What is posted up to here the doorbell runs that brought us. */
	qp->poll.prod = READ_ONCE(qp->sq.ring->hdr->prod);
	qp->sq.polled = true;
	WRITE_ONCE(qp->sq.ring->hdr->flags, TERN_RING_F_DRAINING);
	list_add_tail(&qp->poll.node, &poll->joining);
}

/* In the process that posted. */
static void join(struct tern_qp *qp)
{
	struct tern_dev *dev = qp->dev;
	struct tern_poll *poll = &dev->poll;

	if (READ_ONCE(qp->sq.polled) || READ_ONCE(qp->state) != IB_QPS_RTS)
		return;
	/*
	 * Not a try: who answers what has just come rings while the lock is still held for that,
	 * each time, and would never join.
	 */
	spin_lock_bh(&qp->run_lock);
	if (!qp->sq.polled && !qp->dead && qp->state == IB_QPS_RTS) {
		spin_lock(&poll->lock);
		if (dev->poll_us)
			take_on(poll, qp);
		spin_unlock(&poll->lock);
	}
	/* Who found it taken is run by the doorbell that follows. */
	spin_unlock_bh(&qp->run_lock);
}

/* By the thread, or when it is no more. */
static void leave(struct tern_qp *qp)
{
	struct tern_ring *ring = qp->poll.ring;

	spin_lock_bh(&qp->run_lock);
	list_del(&qp->poll.node);
	qp->sq.polled = false;
	/* Even if the engine would leave it set: a doorbell too many does no harm. */
	WRITE_ONCE(ring->hdr->flags, 0);
	spin_unlock_bh(&qp->run_lock);
	/*
	 * Pairs with the poster's barrier between prod and flags: it sees that it has to ring,
	 * or we see what it posted. The run also is for who found the run lock taken.
	 */
	smp_mb();
	qp->dev->transport->qp_doorbell(qp, false);
	tern_ring_put(ring);
	tern_qp_put(qp);
}

static void leave_all(struct list_head *qps)
{
	struct tern_qp *qp, *next;

	list_for_each_entry_safe(qp, next, qps, poll.node)
		leave(qp);
}

static void take_over(struct tern_poll *poll, u64 now_ns)
{
	struct tern_qp *qp;

	if (list_empty(&poll->joining))
		return;
	spin_lock_bh(&poll->lock);
	list_for_each_entry(qp, &poll->joining, poll.node)
		qp->poll.found_ns = now_ns;
	list_splice_tail_init(&poll->joining, &poll->qps);
	spin_unlock_bh(&poll->lock);
}

/*
 * Each prod is looked at once, as a doorbell is rung once: what a run leaves in the
 * queue (the stack may be full) has somebody who comes back for it.
 */
static bool look_at(struct tern_qp *qp)
{
	u32 prod = READ_ONCE(qp->poll.ring->hdr->prod);

	if (prod == qp->poll.prod)
		return false;
	qp->poll.prod = prod;
	/* Else a packet or the timer had it run, and it has been taken. */
	if (prod != READ_ONCE(qp->sq.head)) {
		tern_count_anywhere(qp->dev, TERN_CNT_POLL_RUNS);
		qp->dev->transport->qp_doorbell(qp, false);
	}
	return true;
}

static bool look_at_queues(struct tern_poll *poll, u64 now_ns, u64 idle_ns)
{
	struct tern_qp *qp, *next;
	bool found = false;

	list_for_each_entry_safe(qp, next, &poll->qps, poll.node) {
		/* First: whoever has the ring mapped may go on writing to it. */
		if (READ_ONCE(qp->dead) || READ_ONCE(qp->state) != IB_QPS_RTS) {
			leave(qp);
		} else if (look_at(qp)) {
			qp->poll.found_ns = now_ns;
			found = true;
		} else if (now_ns - qp->poll.found_ns >= idle_ns) {
			leave(qp);
		}
	}
	return found;
}

/* ---- packets ---- */

void tern_poll_note(struct tern_dev *dev, unsigned int napi_id)
{
	struct tern_poll *poll = &dev->poll;
	unsigned int *napi = &poll->napi[napi_id % ARRAY_SIZE(poll->napi)];

	/* By `lo`, say. */
	if (napi_id < MIN_NAPI_ID)
		return;
	/* Those of an interface's queues follow one another; of two in one place the last counts. */
	if (READ_ONCE(*napi) != napi_id)
		WRITE_ONCE(*napi, napi_id);
	if (!READ_ONCE(poll->came))
		WRITE_ONCE(poll->came, true);
}

static bool look_for_packets(struct tern_poll *poll)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(poll->napi); i++) {
		unsigned int napi_id = READ_ONCE(poll->napi[i]);

		if (napi_id)
			tern_napi_poll(napi_id);
	}
	/* One that is overwritten here is only time lost: it was a moment ago, too. */
	if (!READ_ONCE(poll->came))
		return false;
	WRITE_ONCE(poll->came, false);
	return true;
}

/* ---- the thread ---- */

void tern_poll_rang(struct tern_qp *qp)
{
	struct tern_poll *poll = &qp->dev->poll;

	if (qp->user)
		join(qp);
	/* Who took rang sees the QP on the list: pairs with the xchg in look(). */
	smp_mb();
	if (atomic_read(&poll->rang))
		return;
	atomic_set(&poll->rang, 1);
	/* With a full barrier, against the sleeper's, who then looks at rang. */
	if (wq_has_sleeper(&poll->wait))
		wake_up(&poll->wait);
}

/* One turn. True: there was something. */
static bool look(struct tern_poll *poll, u64 now_ns, u64 idle_ns)
{
	bool found = atomic_read(&poll->rang) && atomic_xchg(&poll->rang, 0);

	take_over(poll, now_ns);
	found |= look_at_queues(poll, now_ns, idle_ns);
	found |= look_for_packets(poll);
	return found;
}

static void wait_for_doorbell(struct tern_poll *poll)
{
	int i;

	/* Traffic may come by others later. */
	for (i = 0; i < ARRAY_SIZE(poll->napi); i++)
		WRITE_ONCE(poll->napi[i], 0);
	wait_event_idle(poll->wait, atomic_read(&poll->rang) || kthread_should_stop());
}

static int poll_fn(void *arg)
{
	struct tern_dev *dev = arg;
	struct tern_poll *poll = &dev->poll;
	u64 found_ns = 0;

	while (!kthread_should_stop()) {
		u64 idle_ns = (u64)READ_ONCE(dev->poll_us) * NSEC_PER_USEC;
		u64 now_ns = ktime_get_ns();

		if (look(poll, now_ns, idle_ns))
			found_ns = now_ns;
		else if (list_empty(&poll->qps) && now_ns - found_ns >= idle_ns)
			wait_for_doorbell(poll);
		cpu_relax();
		/* Some kinds of RCU else wait for it to sleep. */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* ---- start, stop: poll->mutex held ---- */

static int start(struct tern_dev *dev, u32 us)
{
	struct tern_poll *poll = &dev->poll;
	struct task_struct *thread;

	atomic_set(&poll->rang, 0);
	thread = kthread_run(poll_fn, dev, "tern-poll/%s", dev_name(&dev->ibdev.dev));
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	poll->thread = thread;
	WRITE_ONCE(dev->poll_us, us);
	return 0;
}

static void stop(struct tern_dev *dev)
{
	struct tern_poll *poll = &dev->poll;

	if (!poll->thread)
		return;
	spin_lock_bh(&poll->lock);
	WRITE_ONCE(dev->poll_us, 0);
	spin_unlock_bh(&poll->lock);
	/* Asked to stop before it first ran, it never does: what there is to leave is for us. */
	kthread_stop(poll->thread);
	poll->thread = NULL;
	take_over(poll, 0);
	leave_all(&poll->qps);
}

static int set(struct tern_dev *dev, u32 us)
{
	int err = 0;

	mutex_lock(&dev->poll.mutex);
	if (!us)
		stop(dev);
	else if (dev->poll.thread)
		WRITE_ONCE(dev->poll_us, us);
	else
		err = start(dev, us);
	mutex_unlock(&dev->poll.mutex);
	return err;
}

void tern_poll_init(struct tern_dev *dev)
{
	struct tern_poll *poll = &dev->poll;

	mutex_init(&poll->mutex);
	INIT_LIST_HEAD(&poll->qps);
	spin_lock_init(&poll->lock);
	INIT_LIST_HEAD(&poll->joining);
	init_waitqueue_head(&poll->wait);
}

void tern_poll_uninit(struct tern_dev *dev)
{
	set(dev, 0);
}

/* ---- the file ---- */

static ssize_t poll_us_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(tern_dev_of(device)->poll_us));
}

static ssize_t poll_us_store(struct device *device, struct device_attribute *attr, const char *buf,
			     size_t n)
{
	u32 us;

	if (kstrtou32(buf, 10, &us) || us > POLL_MAX_US)
		return -EINVAL;
	return set(tern_dev_of(device), us) ?: n;
}

struct device_attribute tern_attr_poll_us = __ATTR_RW(poll_us);
