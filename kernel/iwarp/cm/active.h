/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The active side: ib_core's iw_connect.
 */
#ifndef TERN_IWARP_CM_ACTIVE_H
#define TERN_IWARP_CM_ACTIVE_H

struct iw_cm_conn_param;
struct iw_cm_id;

int iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);

#endif
