/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modify_qp: attributes become engine configuration. What runs afterwards is run.c's.
 */
#ifndef TERN_ROCE_QP_MODIFY_H
#define TERN_ROCE_QP_MODIFY_H

#include <rdma/ib_verbs.h>

struct tern_qp;

/* tern_transport_ops.qp_modify. Process context; sleeps. */
int roce_qp_modify(struct tern_qp *base, const struct ib_qp_attr *attr, int mask,
		   enum ib_qp_state cur, enum ib_qp_state next);

#endif
