/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE QPs as verbs/ sees them: the operations of struct tern_transport_ops that have
 * these names, where their contracts are. modify.h has qp_modify.
 */
#ifndef TERN_ROCE_QP_QP_H
#define TERN_ROCE_QP_QP_H

struct ib_qp_attr;
struct ib_qp_init_attr;
struct tern_dump_qp;
struct tern_qp;
union ib_gid;

int roce_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init);
void roce_qp_quiesce(struct tern_qp *base);
void roce_qp_release(struct tern_qp *base);
void roce_qp_query(struct tern_qp *base, struct ib_qp_attr *attr, int mask);
void roce_qp_dump(struct tern_qp *base, struct tern_dump_qp *dump);
/* To a multicast group. */
int roce_qp_attach(struct tern_qp *base, const union ib_gid *mgid);

#endif
