/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What QPs need from their CQs. */
#ifndef TERN_PROVIDER_CQ_H
#define TERN_PROVIDER_CQ_H

#include <infiniband/verbs.h>

namespace tern {

/*
 * A QP was destroyed or reset: drop its unpolled CQEs. Takes the locks of its CQs:
 * not to be called between start_poll and end_poll. An XRC target has no CQ: its CQEs
 * stay in those of the SRQs, which may be other programs'.
 */
void cq_forget_qp(const ibv_qp *qp);

} // namespace tern

#endif
