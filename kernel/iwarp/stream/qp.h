/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iWARP QPs as verbs/ sees them: struct tern_transport_ops (transport.h) has the contracts.
 */
#ifndef TERN_IWARP_STREAM_QP_H
#define TERN_IWARP_STREAM_QP_H

#include <rdma/ib_verbs.h>

struct tern_dump_qp;
struct tern_qp;

/* READs and atomics under way on a QP, in each direction. */
#define IW_MAX_RD_ATOMIC	128

int iw_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init);
void iw_qp_quiesce(struct tern_qp *base);
void iw_qp_release(struct tern_qp *base);
int iw_qp_modify(struct tern_qp *base, const struct ib_qp_attr *attr, int mask,
		 enum ib_qp_state cur, enum ib_qp_state next);
bool iw_qp_may_modify(enum ib_qp_state cur, enum ib_qp_state next, enum ib_qp_type type,
		      enum ib_qp_attr_mask mask);
void iw_qp_query(struct tern_qp *base, struct ib_qp_attr *attr, int mask);
void iw_qp_dump(struct tern_qp *base, struct tern_dump_qp *dump);

#endif
