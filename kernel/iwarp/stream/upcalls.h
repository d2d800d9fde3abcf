/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the stream asks of its endpoint, all of it. The other way round cm/ calls the functions of
 * stream/'s headers. Implemented in cm/ep.c, the last in cm/end.c.
 */
#ifndef TERN_IWARP_STREAM_UPCALLS_H
#define TERN_IWARP_STREAM_UPCALLS_H

#include <linux/types.h>

struct iw_ep;

void iw_ep_get(struct iw_ep *ep);
/* May sleep: the last reference releases the socket. */
void iw_ep_put(struct iw_ep *ep);
/* The endpoint takes a step soon: how far the stream's end is may have changed. Any context. */
void iw_ep_kick(struct iw_ep *ep);
/*
 * End the connection. orderly: TCP still sends what it has, then a FIN; else a reset. Takes the
 * endpoint's mutex; may sleep.
 */
void iw_ep_close(struct iw_ep *ep, bool orderly);

#endif
