/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs: creation, query, destruction. */
#ifndef TERN_VERBS_QP_H
#define TERN_VERBS_QP_H

#include <rdma/ib_verbs.h>

int tern_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int tern_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int tern_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

#endif
