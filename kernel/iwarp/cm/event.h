/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What iw_cm is told. ep->lock held; may sleep.
 */
#ifndef TERN_IWARP_CM_EVENT_H
#define TERN_IWARP_CM_EVENT_H

#include <rdma/iw_cm.h>

struct iw_ep;

/* Fill in addresses, and what the peer's frame says. */
void iw_event_describe(struct iw_ep *ep, struct iw_cm_event *event);
/*
 * Tell it, if it has an identifier for the connection. Error: it had no memory for the event, and
 * was told of a connection that failed instead.
 */
int iw_event_send(struct iw_ep *ep, enum iw_cm_event_type type, int status);
/* No more events. */
void iw_event_forget_cm_id(struct iw_ep *ep);

#endif
