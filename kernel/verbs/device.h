/* SPDX-License-Identifier: GPL-2.0 */
/* The device as ib_core sees it: the table of verbs. */
#ifndef TERN_VERBS_DEVICE_H
#define TERN_VERBS_DEVICE_H

struct tern_dev;

/*
 * Puts all verbs, the transport's own included, into the ops of a device that is not yet
 * registered. Does not sleep.
 */
void tern_device_set_verbs(struct tern_dev *dev);

#endif
