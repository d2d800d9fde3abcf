/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `rdma -dd resource show` adds, and its raw dumps (uapi/tern-dump.h). Process context. 0,
 * -EMSGSIZE (msg is full), -EAGAIN (the object is being destroyed).
 */
#ifndef TERN_VERBS_RES_H
#define TERN_VERBS_RES_H

#include <rdma/ib_verbs.h>

struct sk_buff;

int tern_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int tern_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int tern_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int tern_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);

int tern_fill_res_qp_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int tern_fill_res_cq_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int tern_fill_res_mr_raw(struct sk_buff *msg, struct ib_mr *ibmr);
int tern_fill_res_srq_raw(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif
