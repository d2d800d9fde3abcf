// SPDX-License-Identifier: GPL-2.0
/*
 * Not re-entrant: a request is first counted as sent, then delivered. The peer's own
 * receive path never answers; carry.c fetches the answers from the loop that sends.
 */
#include "core/fault.h"
#include "core/qp.h"
#include "core/stats.h"
#include "mem/sgl.h"
#include "proto/opcode.h"
#include "proto/rc_ack.h"
#include "roce/qp/dispatch.h"
#include "roce/qp/local.h"
#include "roce/qp/lock.h"
#include "roce/qp/packet.h"
#include "roce/qp/peer.h"
#include "roce/qp/time.h"
#include "roce/wire/route.h"
#include "uncleared.h"

/* Payload of no more than this is gathered on the stack. */
#define LOCAL_SMALL_BYTES	256

static void deliver_run(struct roce_qp *to, struct roce_rx *rx)
{
	rx->dev = to->base.dev;
	roce_dispatch(to, rx);
}

static void count_message(struct roce_qp *qp, const struct pkt *k)
{
	if (k->op_flags & OPF_LAST)
		tern_qp_count(&qp->base, TERN_CNT_LOCAL_MSGS);
	tern_qp_count_add(&qp->base, TERN_CNT_LOCAL_BYTES, k->payload_bytes);
}

/* A small payload is read right away, into small: that is less work than to look twice. */
static int check_source(struct roce_source *src, u32 n, u8 small[LOCAL_SMALL_BYTES])
{
	int err;

	if (src->flat || n > LOCAL_SMALL_BYTES)
		return roce_source_check(src, n);
	err = tern_sges_read(src->mem, src->sge, src->num_sge, src->off, small, n);
	if (err)
		return err;
	src->flat = small;
	src->off = 0;
	return 0;
}

/* Should the peer not call: look again whether it has a receive WQE. For pages it calls. */
static void look_again(struct roce_qp *qp, struct roce_qp *to)
{
	u64 at = rc_resp_recv_look_ns(&to->resp), now = roce_now(qp);

	if (tern_fault_is_pending(&to->base))
		roce_tx_later(qp, RC_RESP_RECV_WAIT_NS);
	else
		roce_tx_later(qp, at > now ? at - now : RC_RESP_RECV_LOOK_NS);
}

/* The stretch in rx goes to the peer, if there is one. */
static int deliver_request(struct roce_qp *qp, const struct run *run, struct roce_rx *rx)
{
	bool reliable = roce_is_reliable(qp);
	u64 now_ns = roce_ack_timer_from(qp);
	struct roce_qp *to = qp->local.to;

	if (rc_req_is_resent(&qp->req, run) && !qp->local.brings_again)
		tern_qp_count_add(&qp->base, TERN_CNT_RETRANS_PKTS, run->npkts);
	/* Before it is answered. UC: complete when sent, so only if it could be read. */
	if (reliable)
		rc_req_sent(&qp->req, now_ns, run, run->npkts);
	if (to && to != qp)
		WRITE_ONCE(to->local.short_held, run->bytes <= ROCE_LOCAL_SHORT_BYTES);
	if (to)
		deliver_run(to, rx);
	if (unlikely(rx->src->refused)) {
		if (rx->src->refused == -EAGAIN)
			rc_req_unsend(&qp->req, run->psn);
		return rx->src->refused;
	}
	qp->local.brings_again = rx->src->waits || rx->src->unfinished;
	if (unlikely(qp->local.brings_again)) {
		rc_req_unsend(&qp->req, run->psn);
		if (rx->src->unfinished)
			return 0;
		look_again(qp, to);
		return -EAGAIN;
	}
	if (!reliable)
		rc_req_sent(&qp->req, now_ns, run, run->npkts);
	if (to)
		count_message(qp, &rx->k);
	return 0;
}

int roce_local_request(struct roce_qp *qp, const struct run *run, struct roce_source *src)
{
	u8 small[LOCAL_SMALL_BYTES] TERN_UNCLEARED;
	struct roce_rx rx TERN_UNCLEARED;
	int err;

	roce_local_rx_begin(&rx, src);
	run_stretch(run, &rx.k);
	/* Answered before the way closes, so a path that turns need not wait for it. */
	rx.k.ack_req = roce_is_reliable(qp);
	if (run->bytes) {
		err = check_source(src, run->bytes, small);
		if (unlikely(err))
			return err;
	}
	return deliver_request(qp, run, &rx);
}

void roce_local_answer(struct roce_qp *qp, const struct run *run, struct roce_source *src)
{
	struct roce_rx rx TERN_UNCLEARED;

	roce_local_rx_begin(&rx, src);
	run_stretch(run, &rx.k);
	if (qp->local.to)
		deliver_run(qp->local.to, &rx);
	tern_qp_count_add(&qp->base, TERN_CNT_LOCAL_BYTES, rx.k.payload_bytes);
}

static bool packets_wait(const struct roce_qp *qp)
{
	return !skb_queue_empty(&qp->backlog) || !skb_queue_empty(&qp->kept);
}

/*
 * Datagrams do not wait here: if the other QP is busy, or packets wait for it, or this one would
 * wait for pages, it goes by the stack, and so does the rest of the batch behind it.
 */
int roce_local_datagram(struct roce_qp *qp, const struct roce_path *path, struct pkt *k,
			struct tern_send_wqe *wqe)
{
	struct roce_source src = { .path = path };
	struct roce_rx rx = { .src = &src };
	struct tern_qp *other;
	struct tern_dev *dev;
	int err;

	if (qp->local.ud_wire)
		return -EAGAIN;
	dev = roce_tx_peer_dev(&qp->tx, path);
	if (!dev)
		goto wire;
	rx.k = *k;
	rx.k.npkts = 1;
	rx.k.op_flags = opcode_info(k->opcode)->flags;
	roce_local_source(&src, qp, wqe);
	err = roce_source_check(&src, k->payload_bytes);
	if (err)
		return err == -EAGAIN ? -EBUSY : -EFAULT;

	other = tern_qp_lookup(dev, k->dqpn);
	if (!other || !(READ_ONCE(dev->netdev->flags) & IFF_UP))
		goto wire;	/* to be lost and counted */
	if (other != &qp->base) {
		if (!spin_trylock(&other->run_lock))
			goto wire;
		__release(&other->run_lock);
	}
	if (other->dead || packets_wait(to_roce_qp(other))) {
		if (other != &qp->base)
			roce_peer_unlock(qp, to_roce_qp(other));
		goto wire;
	}
	if (path->network == RDMA_NETWORK_IPV4)
		src.ip_id = qp->tx.ip_id++;
	deliver_run(to_roce_qp(other), &rx);
	if (!src.refused && !src.waits)
		count_message(qp, &rx.k);
	if (other != &qp->base) {
		if (other->state == IB_QPS_ERR)
			roce_mark(to_roce_qp(other), TERN_QP_MARK_SEND);
		roce_peer_unlock(qp, to_roce_qp(other));
	}
	if (src.refused)
		return src.refused == -EAGAIN ? -EBUSY : -EFAULT;
	if (!src.waits)
		return 0;
wire:
	qp->local.ud_wire = true;
	return -EAGAIN;
}
