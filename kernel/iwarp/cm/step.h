/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An endpoint's work: the next step that its state allows.
 */
#ifndef TERN_IWARP_CM_STEP_H
#define TERN_IWARP_CM_STEP_H

struct iw_ep;
struct tern_dev;

/*
 * An endpoint with a new socket, whose receive buffer is rcvbuf, and with work items.
 * ERR_PTR(-EAFNOSUPPORT), (-ENOMEM) or TCP's error. May sleep.
 */
struct iw_ep *iw_step_create(struct tern_dev *dev, int family, int rcvbuf);

#endif
