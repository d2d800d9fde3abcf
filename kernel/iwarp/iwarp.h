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

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>

#include "iwarp/stream/upcalls.h"
#include "objects.h"
#include "proto/mpa.h"

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
 * Connections of a listener that iw_cm has not answered yet; iw_cm counts its own. With so many,
 * those that are silent make room for others.
 */
#define IW_MAX_PENDING		1024

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
 * Of endpoints, whose steps allocate: they must not hold up QPs (stream/defer.h) when there is only
 * one worker left.
 */
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

#endif
