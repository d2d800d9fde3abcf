/* SPDX-License-Identifier: GPL-2.0 */
/* Multicast membership of UD QPs. */
#ifndef TERN_VERBS_MCAST_H
#define TERN_VERBS_MCAST_H

#include <rdma/ib_verbs.h>

int tern_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int tern_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

#endif
