/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The passive side: ib_core's iw_create_listen, iw_destroy_listen, iw_accept and iw_reject.
 */
#ifndef TERN_IWARP_CM_PASSIVE_H
#define TERN_IWARP_CM_PASSIVE_H

#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;

int iw_create_listen(struct iw_cm_id *cm_id, int backlog);
int iw_destroy_listen(struct iw_cm_id *cm_id);
int iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iw_reject(struct iw_cm_id *cm_id, const void *data, u8 bytes);

#endif
