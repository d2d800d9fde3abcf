/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device's congestion control: one of TCP's, for sockets made from then on. All functions may
 * sleep.
 */
#ifndef TERN_IWARP_CM_CONGESTION_H
#define TERN_IWARP_CM_CONGESTION_H

#include "core/device.h"

struct iw_dev;
struct socket;

void iw_congestion_init(struct iw_dev *iw);
/* The transport's operations (core/transport.h). */
void iw_congestion_show(struct tern_dev *dev, char *name);
/* With the rights of the calling task, as TCP_CONGESTION: -ENOENT; -EPERM: not for this task. */
int iw_congestion_set(struct tern_dev *dev, const char *name);
/*
 * For a socket that has no connection yet, so that an algorithm that relies on ECN asks for it;
 * what a listener accepts inherits it. A route's congctl comes before it. 0, or TCP's error:
 * -ENOENT: its module is not there any more.
 */
int iw_congestion_apply(struct tern_dev *dev, struct socket *sock);

#endif
