/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints: a TCP connection or listener, and what iw_cm knows of it.
 */
#ifndef TERN_IWARP_CM_EP_H
#define TERN_IWARP_CM_EP_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "core/device.h"
#include "iwarp/cm/sock.h"
#include "iwarp/stream/upcalls.h"
#include "proto/mpa.h"

struct iw_qp;

enum iw_ep_state {
	IW_EP_NEW,
	IW_EP_LISTENING,
	IW_EP_CONNECTING,	/* TCP's handshake */
	IW_EP_WAIT_REPLY,
	IW_EP_WAIT_REQUEST,
	IW_EP_REQUESTED,	/* iw_cm was told: accept or reject */
	IW_EP_OPEN,		/* FPDUs */
	IW_EP_DRAINING,		/* our end is decided; what precedes the FIN is sent */
	IW_EP_CLOSING,		/* our FIN is sent, or the peer's is in */
	IW_EP_DEAD,
};

struct iw_ep {
	refcount_t ref;
	struct tern_dev *dev;
	struct socket *sock;
	struct iw_sock_callbacks tcp_callbacks;	/* the socket's before ours */
	struct mutex lock;		/* by iw_ep_lock() */
	unsigned int noio;		/* the lock holder's flags from before; under lock */
	enum iw_ep_state state;		/* under lock */
	struct iw_cm_id *cm_id;		/* referenced; under lock */
	struct iw_qp *qp;		/* under lock; set before OPEN. Destroy ends us first */
	struct work_struct work;
	struct delayed_work timeout;
	unsigned long deadline;		/* jiffies; the timer may expire before it, to try again */
	bool peer_closed;		/* its FIN is in, and the end has come by end_by */
	unsigned long end_by;		/* jiffies; under lock */
	u32 close_una;			/* at the last look: TCP's oldest unacknowledged byte, */
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
	struct list_head child;		/* empty: the listener does not wait for it any more */
	bool spoken;			/* a child has sent its request */
	u32 num_children;
};

/*
 * Nothing that the holder allocates waits for writeback: the endpoint's work waits for the holder,
 * and writeback may wait for that work, when it brings a storage's connection back.
 */
static inline void iw_ep_lock(struct iw_ep *ep) __acquires(&ep->lock)
{
	mutex_lock(&ep->lock);
	ep->noio = memalloc_noio_save();
}

/* Inside the lock of an endpoint that came by this listener. */
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

/* The workqueue: at load (-ENOMEM), before the end, and before a device goes. May sleep. */
int iw_ep_init(void);
void iw_ep_exit(void);
void iw_ep_flush(void);

/*
 * With one reference, without work items (step.h). The endpoint owns sock; NULL: no memory, sock is
 * released. May sleep.
 */
struct iw_ep *iw_ep_alloc(struct tern_dev *dev, struct socket *sock);

/* ep->lock held, or nobody else knows ep yet. */
void iw_ep_set_state(struct iw_ep *ep, enum iw_ep_state state);

/* ---- the timer, which bounds a state, or tries its step again: ep->lock held ---- */

void iw_ep_start_timer(struct iw_ep *ep, unsigned long delay);
void iw_ep_stop_timer(struct iw_ep *ep);
/* One more step after delay, or at the timer's end if that is before. */
void iw_ep_retry(struct iw_ep *ep, unsigned long delay);

#endif
