/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs: state transitions and attributes. */
#ifndef TERN_VERBS_QP_MODIFY_H
#define TERN_VERBS_QP_MODIFY_H

#include <rdma/ib_verbs.h>

int tern_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);

#endif
