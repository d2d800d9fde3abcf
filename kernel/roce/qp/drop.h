/* SPDX-License-Identifier: GPL-2.0 */
/* What came for a QP and goes no further, for people who trace it. Counters are the caller's. */
#ifndef TERN_ROCE_QP_DROP_H
#define TERN_ROCE_QP_DROP_H

#include "core/trace.h"
#include "proto/pkt.h"
#include "roce/qp/state.h"

static inline void roce_note_drop(const struct roce_qp *qp, const struct pkt *k, enum tern_drop why)
{
	trace_tern_rx_drop(qp->base.dev, qp->base.qpn, k->opcode, k->psn, why);
}

#endif
