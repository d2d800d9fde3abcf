/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connection requests that iw_cm was told of, by number.
 */
#ifndef TERN_IWARP_CM_REQUEST_H
#define TERN_IWARP_CM_REQUEST_H

#include <linux/types.h>

struct iw_ep;
struct tern_dev;

/*
 * ep->request is a number by which iw_cm answers, once. It holds a reference. -ENOMEM. May sleep.
 */
int iw_request_announce(struct iw_ep *ep);
/* The endpoint of that number, with its reference; NULL: answered, or over. */
struct iw_ep *iw_request_take(u32 number);
/* ep's request was not answered in time: reset it. ep->lock held; may sleep. */
void iw_request_drop(struct iw_ep *ep, int status);
/* dev goes: reset those that nobody will answer. May sleep. */
void iw_requests_end(struct tern_dev *dev);

#endif
