/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ends of endpoints. ep->lock held; may sleep. iw_ep_close() is in stream/upcalls.h.
 */
#ifndef TERN_IWARP_CM_END_H
#define TERN_IWARP_CM_END_H

struct iw_ep;

/* The listener does not wait for it any more. */
void iw_ep_leave_listener(struct iw_ep *ep);
/* The end, with a FIN. status: why, for an iw_cm that waits for a connection. */
void iw_ep_end(struct iw_ep *ep, int status);
/* The same with a reset: what is still under way is dropped. */
void iw_ep_reset(struct iw_ep *ep, int status);

#endif
