/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues. */
#ifndef TERN_VERBS_SRQ_H
#define TERN_VERBS_SRQ_H

#include <rdma/ib_verbs.h>

int tern_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int tern_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int tern_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int tern_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

#endif
