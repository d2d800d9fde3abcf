/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open connections, and their orderly end. ep->lock held; may sleep.
 */
#ifndef TERN_IWARP_CM_OPEN_H
#define TERN_IWARP_CM_OPEN_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct iw_ep;

/* The end of an orderly close may take this time, again and again while it makes progress. */
#define IW_CLOSE_TIMEOUT	(5 * HZ)

/* The step of OPEN, DRAINING, CLOSING. */
void iw_open_step(struct iw_ep *ep);
/* IW_CLOSE_TIMEOUT is over: has the end made progress, and may it go on? */
bool iw_open_may_go_on(struct iw_ep *ep);

#endif
