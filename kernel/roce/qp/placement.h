/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FLUSH and ATOMIC WRITE (IBTA annex A19) at the memory that they name. Everything here:
 * run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_PLACEMENT_H
#define TERN_ROCE_QP_PLACEMENT_H

struct rc_act;
struct roce_qp;
struct roce_rx;

/*
 * RC_ACT_FLUSH, or the next part of it. 1: all of it is done. 0: call it again for the next part.
 * Else the error of tern_span_get().
 */
int roce_place_flush(struct roce_qp *qp, const struct rc_act *act);
/* RC_ACT_ATOMIC_WRITE. 0; the error of tern_span_get(); or -EINVAL: the memory is not aligned. */
int roce_place_value(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act);

#endif
