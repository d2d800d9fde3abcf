/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iWARP: endpoints (a TCP connection and what iw_cm knows of it) and QPs, and
 * who may touch what.
 *
 * Locks, outermost first: ep->lock (mutex: life of the endpoint), the socket's
 * own lock (data path: engines' input and output), base.run_lock (QP state and
 * engines), the gate's. All data path work is done by whoever has the socket: the
 * softirq that brings bytes or room, or a poster. A poster who finds it taken
 * queues the work item, which waits for it.
 */
#ifndef TERN_IWARP_H
#define TERN_IWARP_H

#include <linux/bvec.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/iw_cm.h>

#include "iwarp/stream/gate.h"
#include "objects.h"
#include "proto/iw_ack.h"
#include "proto/iw_req.h"
#include "proto/iw_resp.h"
#include "proto/mpa.h"

/* READs and atomics under way on a QP, either way. */
#define IW_MAX_RD_ATOMIC	128
/* Where both ends let FPDUs span TCP segments: so large that headers and CRCs hardly count. */
#define IW_MAX_FPDU_BYTES	16384
/* Bytes in and out per visit; more is for the work item. */
#define IW_BUDGET_BYTES		(1 << 20)
/*
 * WQEs that a visit takes and has not begun, that it begins with, and that it completes; and FPDUs
 * in, each of which may complete a receive. So many of 64 B take 0.9 (emulated) to 2.5 (native) of
 * the time of IW_BUDGET_BYTES (performance.md).
 */
#define IW_BUDGET_WQES		1024
#define IW_RCVBUF_BYTES		(512 << 10)
/* Until a connection is accepted: an MPA frame, and what a packet takes beside its bytes. */
#define IW_START_RCVBUF_BYTES	4096
/*
 * What may wait below TCP, in the device's queue: 2^-9 s' worth at the pace of
 * the stream, instead of TCP's 2^-10 s, for ACKs held back slow that pace as
 * TCP sees it. With 2^-8 s a bulk stream fills netdevs' rings, and short messages
 * of other QPs wait behind it. tcp_limit_output_bytes bounds it all the same.
 * Of a netdev that does not cut segments itself TCP's is enough to fill the ring.
 */
#define IW_PACING_SHIFT		9
/*
 * Written to TCP, but not sent yet: beyond it there is no room. More of it speeds
 * up nothing. It would complete megabytes of WRITEs of a bulk stream that have
 * not begun to leave, and spend their poster's time on them alone.
 */
#define IW_UNSENT_BYTES		(256 << 10)
/* FPDUs are given to TCP so many pages at a time, at most. */
#define IW_TX_PAGES		8
/*
 * A Send that finds no receive WQE waits for one so long, in the socket, before
 * it ends the stream: verbs programs know RNR, and post late.
 */
#define IW_NO_RECV_WAIT		(5 * HZ)
/* An initiator's MPA frame has to come within it: it is sent as soon as TCP is connected. */
#define IW_MPA_TIMEOUT		(10 * HZ)
/*
 * An application's answer to a request: of the peer's, for the reply to come; of ours, after the
 * listener's end. As long as adapters wait for it.
 */
#define IW_ANSWER_TIMEOUT	(60 * HZ)
/* The end of an orderly close, as long as nothing goes on. */
#define IW_CLOSE_TIMEOUT	(5 * HZ)
/* A request that iw_cm had no room for. */
#define IW_BACKLOG_RETRY	msecs_to_jiffies(10)
/*
 * The first message of peer-to-peer mode is said again to a responder that has
 * sent nothing: after that long, then five times as long, and so on. siw forgets
 * what comes while it is still returning from sending its reply, and looks
 * again when more comes.
 */
#define IW_RTR_AGAIN		msecs_to_jiffies(10)
#define IW_RTR_REPEATS		4
/*
 * RFC 5044 7.1.2: a responder sends nothing before the initiator's first FPDU,
 * for that may still be opening its end. Without peer-to-peer mode (siw asks
 * for none) that FPDU need never come, and programs whose server speaks first
 * would wait for ever: after so long the initiator is taken for ready.
 */
#define IW_HOLD_MAX		(HZ / 2)
/*
 * Connections of a listener that iw_cm has not answered yet; iw_cm counts its own. With so many,
 * those that are silent make room for others.
 */
#define IW_MAX_PENDING		1024

struct iw_lender;
struct iw_qp;
struct rdma_cm_id;

enum iw_ep_state {
	IW_EP_LISTENING,
	IW_EP_CONNECTING,	/* TCP's handshake */
	IW_EP_WAIT_REPLY,
	IW_EP_WAIT_REQUEST,
	IW_EP_REQUESTED,	/* iw_cm was told: accept or reject */
	IW_EP_OPEN,		/* FPDUs */
	IW_EP_DRAINING,		/* our end is decided; what precedes the FIN goes out */
	IW_EP_CLOSING,		/* our FIN is out, or the peer's in */
	IW_EP_DEAD,
};

struct iw_sock_callbacks {
	void (*ready)(struct sock *sk);
	void (*space)(struct sock *sk);
	void (*change)(struct sock *sk);
	void (*error)(struct sock *sk);
};

struct iw_ep {
	refcount_t ref;
	struct tern_dev *dev;
	struct socket *sock;
	struct iw_sock_callbacks tcp_callbacks;	/* what the socket had before ours */
	struct mutex lock;		/* by iw_ep_lock() */
	unsigned int noio;		/* its holder's, from before; under lock */
	enum iw_ep_state state;		/* under lock */
	struct iw_cm_id *cm_id;		/* referenced; under lock */
	struct iw_qp *qp;		/* under lock; set before OPEN. Destroying it ends us first */
	struct work_struct work;
	struct delayed_work timeout;
	unsigned long deadline;		/* jiffies; the timer may go off before it, to try again */
	bool peer_closed;		/* its FIN is in, and all is to be over */
	unsigned long end_by;		/* this (jiffies); under lock */
	u32 close_una;			/* TCP's oldest unacknowledged byte at the last look, */
	u32 close_copied;		/* the next byte to be taken, */
	u32 close_req;			/* and the QP's oldest request */
	u32 request;			/* iw_cm's number for it: REQUESTED */

	struct mpa_offer offer;
	struct mpa_frame frame;		/* the peer's */
	u32 have;
	u16 own_bytes;			/* CONNECTING: buf has our own private data */
	u8 buf[MPA_FRAME_BYTES + MPA_MAX_PRIVATE_BYTES];

	struct iw_ep *listener;		/* referenced: WAIT_REQUEST, REQUESTED */
	/* Under the listener's lock: */
	struct list_head children;	/* of a listener, oldest first */
	struct list_head child;		/* empty: the listener waits for it no more */
	bool spoken;			/* a child has sent its request */
	u32 num_children;
};

/*
 * What is on its way into the socket: FPDUs back to back in pages, of which the
 * socket has references of its own.
 */
struct iw_tx {
	struct bio_vec out[IW_TX_PAGES];	/* compound; what of each is to be sent */
	u32 last;			/* the one that is written to; */
	u32 page_bytes;			/* so large it is */
	u32 unsent;			/* bytes of all that the socket has not taken */
	u64 pos;			/* of what is written in the stream, for markers */
	u32 mss;			/* TCP's, for which the engines make segments */
	u32 fpdu_bytes;			/* of the longest */
	u8 *bounce;			/* with markers: an FPDU before they are put in */
	struct iw_lender *lender;	/* NULL: all is copied */
	bool rtr;			/* the first FPDU of peer-to-peer mode is due */
	u8 rtr_repeats;			/* left; 0 once the peer has sent an FPDU */
	bool hold;			/* the peer has to speak first (RFC 5044 7.1.2) */
	bool closing;			/* after what is written, and posted up to take_end: FIN */
	u32 take_end;
	bool fin;
};

struct iw_qp {
	struct tern_qp base;
	struct iw_ep *ep;		/* of its one connection; stays until release */
	struct sock *sk;		/* ep's, from OPEN on */
	bool ready;			/* engines run; under run_lock */
	struct mpa_terms terms;
	struct iw_sqe *sqe;
	struct iw_irq *irq;
	struct iw_req req;
	struct iw_resp resp;
	struct iw_tx tx;
	struct iw_turn turn;
	struct work_struct work;
	struct delayed_work retry;	/* is there a receive WQE, or memory, now? */
	struct delayed_work opening;	/* the peer has sent nothing yet */
	unsigned long rx_wait_until;	/* jiffies */
	bool rx_waits;			/* for a receive WQE */
	bool rx_pending;		/* a whole FPDU was left in the socket */
	u32 rx_held;			/* bytes read that TCP has not got back */
	u32 rx_left;			/* bytes that were there, but not read, at the last look */
	bool rx_over;			/* the peer has closed its half; all before is taken */
	struct sk_buff *rx_part;	/* the beginning of an FPDU; it has left the socket */
	/* From iw_rx() to iw_rx_end(): */
	u32 rx_unfinished;		/* bytes of the FPDU that is not whole yet; 0: unknown */
	bool rx_settle;			/* TCP is to get what is held, however little */
	struct iw_ack ack;		/* under run_lock */
	struct delayed_work acker;	/* an ACK waits */
	bool last_wqe_told;
	refcount_t cm_refs;		/* iw_cm's and our own: destroy waits */
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
	atomic_t acks_waiting;		/* QPs' whose acker is queued */
};

static inline struct iw_dev *iw_dev(const struct tern_dev *dev)
{
	return dev->transport_data;
}

/*
 * Of QPs: what writeback may wait for. Nothing on it waits for memory. And of endpoints, whose
 * steps do allocate, so they are not to hold up the former, be there only one worker left.
 */
extern struct workqueue_struct *iw_wq;
extern struct workqueue_struct *iw_ep_wq;

/* ---- cm.c: connections ---- */
int iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iw_reject(struct iw_cm_id *cm_id, const void *data, u8 bytes);
int iw_create_listen(struct iw_cm_id *cm_id, int backlog);
int iw_destroy_listen(struct iw_cm_id *cm_id);
/* Whatever the endpoint's state allows now. ep->lock held. */
void iw_ep_step(struct iw_ep *ep);

/* ---- ep.c: endpoints ---- */
/*
 * Whoever is at it: its work waits for him, and a storage's way back to its server, for which
 * writeback waits, is that work. So nothing that he allocates is to wait for writeback.
 */
static inline void iw_ep_lock(struct iw_ep *ep) __acquires(&ep->lock)
{
	mutex_lock(&ep->lock);
	ep->noio = memalloc_noio_save();
}
/* Inside the lock of one that came by it. */
static inline void iw_ep_lock_listener(struct iw_ep *listener) __acquires(&listener->lock)
{
	mutex_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
	listener->noio = memalloc_noio_save();
}
static inline void iw_ep_unlock(struct iw_ep *ep) __releases(&ep->lock)
{
	memalloc_noio_restore(ep->noio);
	mutex_unlock(&ep->lock);
}
/* sock, with TCP's own callbacks, is the endpoint's, or released. NULL: no memory. */
struct iw_ep *iw_ep_alloc(struct tern_dev *dev, struct socket *sock);
/* With a new socket, its receive buffer of rcvbuf; ERR_PTR(-EAFNOSUPPORT), or its error. */
struct iw_ep *iw_ep_create(struct tern_dev *dev, int family, int rcvbuf);
void iw_ep_get(struct iw_ep *ep);
void iw_ep_put(struct iw_ep *ep);
/* Take a step soon. From any context. */
void iw_ep_kick(struct iw_ep *ep);
/* Orderly: what TCP has still goes out; else a reset. May sleep. */
void iw_ep_close(struct iw_ep *ep, bool orderly);

/* A connection request has a number by which iw_cm answers it, once. */
int iw_request_announce(struct iw_ep *ep);
/* The endpoint, with the announcement's reference; NULL: answered, or over. */
struct iw_ep *iw_request_take(u32 number);
/* dev goes: those that nobody will answer. May sleep. */
void iw_requests_end(struct tern_dev *dev);

/* ep->lock held: */
void iw_ep_start_timer(struct iw_ep *ep, unsigned long delay);
void iw_ep_stop_timer(struct iw_ep *ep);
/* One more step after delay, or at the timer's end if that is before. */
void iw_ep_retry(struct iw_ep *ep, unsigned long delay);
/* The peer has IW_CLOSE_TIMEOUT, and as often more as it makes progress. */
void iw_ep_bound_end(struct iw_ep *ep);
/* But from its FIN on no longer than a silent one is waited for. */
void iw_ep_peer_closed(struct iw_ep *ep);
/* Addresses, and what the peer's frame says. */
void iw_ep_describe(struct iw_ep *ep, struct iw_cm_event *event);
/* Error: iw_cm had no memory for it, and was told of a connection that failed instead. */
int iw_ep_event(struct iw_ep *ep, enum iw_cm_event_type type, int status);
void iw_ep_forget_cm_id(struct iw_ep *ep);
void iw_ep_leave_listener(struct iw_ep *ep);
/* The end, with a FIN. status: why, for an iw_cm that waits for a connection. */
void iw_ep_end(struct iw_ep *ep, int status);
/* With a reset instead of what is still under way. */
void iw_ep_reset(struct iw_ep *ep, int status);

/* ---- sock.c: may sleep ---- */
int iw_sock_create(struct tern_dev *dev, int family, int rcvbuf, struct socket **sock);
void iw_sock_prepare(struct sock *sk);
/* There will be FPDUs; a peer that is silent for so long is dead. */
void iw_sock_open(struct sock *sk, u32 peer_timeout_s);
/* For the netdev that its connection goes by. The socket is locked. */
void iw_sock_set_pacing(struct sock *sk);
/*
 * Does the netdev not cut segments itself? Then each packet takes a place of its ring, and each
 * time TCP sends is a doorbell and an interrupt for few of them.
 */
static inline bool iw_sends_packets(const struct net_device *netdev)
{
	return !(READ_ONCE(netdev->features) & NETIF_F_ALL_TSO);
}
/* What the path takes: TCP's delivery rate by its least round trip time. 0: not known yet. */
static inline u64 iw_path_bytes(const struct tcp_sock *tp)
{
	if (!tp->rate_interval_us)
		return 0;
	return div_u64((u64)tp->rate_delivered * tp->mss_cache * tcp_min_rtt(tp),
		       tp->rate_interval_us);
}
/*
 * As softirqs lock it, by a process: it may not sleep then, and what comes in waits for the
 * spinlock, not in the backlog. So a QP may be run.
 */
static inline void iw_sock_lock(struct sock *sk) __acquires(&sk->sk_lock.slock)
{
	while (lock_sock_fast(sk))
		unlock_sock_fast(sk, true);
}
static inline void iw_sock_unlock(struct sock *sk) __releases(&sk->sk_lock.slock)
{
	unlock_sock_fast(sk, false);
}
void iw_sock_set_tos(struct sock *sk, u8 tos);
/* Bound to port 0, it gets one at connect: any that is free toward that peer. */
void iw_sock_pick_port(struct socket *sock);
/* A reset, if there is a connection. */
void iw_sock_abort(struct socket *sock);
/* The socket goes; its connection ends as it is ending. */
void iw_sock_release(struct socket *sock);
void iw_sock_callbacks_get(const struct sock *sk, struct iw_sock_callbacks *cb);
/* Those that the listener had before ours, to what it accepted. */
void iw_sock_disinherit(struct sock *sk, const struct iw_ep *listener);
/* Callbacks that queue the endpoint's work; then those of the data path; then TCP's own. */
void iw_sock_attach(struct iw_ep *ep);
void iw_sock_attach_data(struct iw_ep *ep);
void iw_sock_detach(struct iw_ep *ep);
int iw_sock_send(struct socket *sock, const void *p, u32 bytes, const void *more, u32 more_bytes);

/* ---- qp.c ---- */
/* By number, referenced: struct ib_qp stays until iw_qp_unfind(). */
struct iw_qp *iw_qp_find(struct tern_dev *dev, u32 qpn);
void iw_qp_unfind(struct iw_qp *qp);
/* May the caller of rdma_cm, with that identifier, have it connected? */
bool iw_qp_is_callers(const struct iw_qp *qp, const struct rdma_cm_id *id);
struct ib_qp *iw_get_qp(struct ib_device *ibdev, int qpn);
void iw_qp_add_ref(struct ib_qp *ibqp);
void iw_qp_rem_ref(struct ib_qp *ibqp);
int iw_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init);
void iw_qp_quiesce(struct tern_qp *base);
void iw_qp_release(struct tern_qp *base);
int iw_qp_modify(struct tern_qp *base, const struct ib_qp_attr *attr, int mask,
		 enum ib_qp_state cur, enum ib_qp_state next);
bool iw_qp_may_modify(enum ib_qp_state cur, enum ib_qp_state next, enum ib_qp_type type,
		      enum ib_qp_attr_mask mask);
void iw_qp_query(struct tern_qp *base, struct ib_qp_attr *attr, int mask);
/* ep's negotiation is done: RTS, engines ready. -EINVAL: the QP is not in INIT any more. */
int iw_qp_start(struct iw_qp *qp, struct iw_ep *ep, const struct mpa_terms *terms, bool active);
/* The connection is over: ERR. */
void iw_qp_closed(struct iw_qp *qp);
/* The peer has closed its half, and all that it sent before was taken. BHs off. */
void iw_qp_peer_closed(struct iw_qp *qp);

/* ---- exec.c: who runs, and what ---- */
/* From any context: all there is to do, or the work item if the socket is taken. */
void iw_kick(struct iw_qp *qp);
enum iw_why {
	IW_ROOM,	/* to send, or something was posted */
	IW_BYTES,	/* came in */
	IW_SETTLE,	/* the same, and nothing is to be put off */
};
/* sk, the QP's, is locked, or NULL. BHs off. */
void iw_run(struct iw_qp *qp, struct sock *sk, enum iw_why why);
/* The same from a process that may sleep, with IW_SETTLE. */
void iw_run_all(struct iw_qp *qp);
void iw_work_fn(struct work_struct *work);
void iw_retry_fn(struct work_struct *work);
void iw_opening_fn(struct work_struct *work);
void iw_acker_fn(struct work_struct *work);
/* run_lock held. */
/* After what is posted by now: FIN. */
void iw_qp_drain(struct iw_qp *qp);
void iw_qp_error(struct iw_qp *qp);
/* The stream ends with a Terminate: the one that is due, or one that says that it is our fault. */
void iw_qp_fatal(struct iw_qp *qp, enum ib_event_type event);
/* What is wrong with memory that a peer names, by the error of mem/. */
static inline enum iw_fail iw_fail_of(int err)
{
	switch (err) {
	case -ERANGE:
		return IW_FAIL_BOUNDS;
	case -EINVAL:
		return IW_FAIL_STAG;
	case -EPERM:
		return IW_FAIL_STREAM;
	default:
		return IW_FAIL_ACCESS;
	}
}
void iw_complete_send(struct iw_qp *qp, u32 index, enum ib_wc_status status);
void iw_complete_recv(struct iw_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
		      bool solicited);

/* ---- rx.c, tx.c: run_lock held, socket locked, but in the last two ---- */
/* True: budget spent, more to do. */
bool iw_rx(struct iw_qp *qp, struct sock *sk, enum iw_why why);
/* After what is to be sent, which takes the ACK along. */
void iw_rx_end(struct iw_qp *qp, struct sock *sk);
/* Between the two: will iw_rx_end() have an ACK sent? */
bool iw_ack_due(const struct iw_qp *qp, struct sock *sk);
bool iw_tx_run(struct iw_qp *qp, struct sock *sk, enum iw_why why);
/* The socket locked, but nobody else is at the QP any more. */
bool iw_tx_hand_over(struct iw_qp *qp, struct sock *sk);
/* A stream that is not to begin: the first FPDU on these terms is a Terminate. May sleep. */
int iw_tx_say_terminate(struct socket *sock, const struct mpa_terms *terms, int code);
void iw_tx_uninit(struct iw_tx *tx);
/* The socket is about to go: to TCP, what was read is not to look unread. May sleep. */
void iw_rx_settle(struct iw_qp *qp);
/* An ACK waits, for more bytes or for so many jiffies. */
void iw_ack_wait(struct iw_qp *qp, u32 ticks);
/* The acker has gone off, or will not. */
void iw_ack_waited(struct iw_qp *qp);

#endif
