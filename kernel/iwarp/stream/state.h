/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of an iWARP QP, which the files of stream/ share. Other folders do not look inside.
 *
 * Locks, outermost first: the endpoint's mutex (cm/ep.h), the socket's spinlock (stream/tcp.h;
 * input and output), base.run_lock (state and engines), the gate's lock. The context that has the
 * socket does all work of the data path: the softirq that brings bytes or room, a poster, or the
 * work item.
 */
#ifndef TERN_IWARP_STREAM_STATE_H
#define TERN_IWARP_STREAM_STATE_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "core/qp.h"
#include "core/transport.h"
#include "iwarp/stream/gate.h"
#include "proto/iw_ack.h"
#include "proto/iw_req.h"
#include "proto/iw_resp.h"
#include "proto/mpa.h"

struct iw_ep;
struct iw_zc;
struct sk_buff;
struct sock;

/* FPDUs are given to TCP in at most this number of pages at a time. */
#define IW_TX_PAGES		8

/*
 * What is on its way into the socket: FPDUs back to back in pages. The socket takes references
 * of its own to them.
 */
struct iw_tx {
	struct bio_vec out[IW_TX_PAGES];	/* compound pages; what of each to send */
	u32 last;			/* index of the page that is written to */
	u32 page_bytes;			/* its size */
	u32 unsent;			/* bytes in all pages that the socket has not taken */
	u64 pos;			/* stream position behind what is written, for markers */
	u32 mss;			/* TCP's; the engines make segments for it */
	u32 fpdu_bytes;			/* of the longest FPDU */
	u8 *bounce;			/* with markers: an FPDU before they are put in */
	struct iw_zc *zc;		/* NULL: everything is copied */
	bool rtr;			/* the first FPDU of peer-to-peer mode is due */
	u8 rtr_repeats;			/* left; 0 once the peer has sent an FPDU */
	bool hold;			/* the peer has to send first (RFC 5044 7.1.2) */
	bool closing;			/* FIN follows what is written, and posted up to take_end */
	u32 take_end;
	bool fin;
};

struct iw_qp {
	struct tern_qp base;
	struct iw_ep *ep;		/* of its one connection; referenced until release */
	struct sock *sk;		/* ep's, from iw_qp_start() on */
	bool ready;			/* the engines run; under run_lock */
	struct mpa_terms terms;
	struct iw_sqe *sqe;
	struct iw_irq *irq;
	struct iw_req req;
	struct iw_resp resp;
	struct iw_tx tx;
	struct iw_grant grant;
	struct work_struct work;
	struct delayed_work retry;	/* is there a receive WQE, or memory, now? */
	struct delayed_work opening;	/* the peer has sent nothing yet */
	struct tasklet_struct zc_done;	/* TCP has returned memory: run the QP */
	unsigned long rx_wait_until;	/* jiffies */
	bool rx_waits;			/* for a receive WQE */
	bool rx_pending;		/* a whole FPDU was left in the socket */
	u32 rx_held;			/* bytes read that TCP has not got back */
	u32 rx_left;			/* bytes that were there, but not read, at the last look */
	bool rx_over;			/* the peer has closed its half; all before is taken */
	struct sk_buff *rx_part;	/* the beginning of an FPDU; it has left the socket */
	/* From iw_rx() to iw_rx_end(): */
	u32 rx_unfinished;		/* bytes of the FPDU that is not whole yet; 0: unknown */
	bool rx_settle;			/* TCP gets back what is held, however little */
	struct iw_ack ack;		/* under run_lock */
	struct delayed_work acker;	/* an ACK waits */
	bool last_wqe_told;
	refcount_t cm_refs;		/* iw_cm's and our own: destroy waits for them */
	struct completion cm_gone;
};

static inline struct iw_qp *to_iw_qp(struct tern_qp *qp)
{
	return container_of(qp, struct iw_qp, base);
}

static inline bool iw_qp_may_connect(const struct iw_qp *qp)
{
	return qp->base.state == IB_QPS_INIT || qp->base.state == IB_QPS_RTR;
}

/* tern_dev.transport_data */
struct iw_dev {
	struct iw_gate gate;
	atomic_t acks_waiting;		/* QPs whose acker is queued */
	struct mutex congestion_lock;
	char congestion[TERN_CONGESTION_NAME_BYTES];	/* cm/congestion.c, under the lock */
};

static inline struct iw_dev *iw_dev(const struct tern_dev *dev)
{
	return dev->transport_data;
}

#endif
