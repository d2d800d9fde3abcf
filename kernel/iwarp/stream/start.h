/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP comes to RTS by its connection alone, once.
 */
#ifndef TERN_IWARP_STREAM_START_H
#define TERN_IWARP_STREAM_START_H

#include <linux/types.h>

struct iw_qp;
struct mpa_terms;
struct sock;

/*
 * The negotiation is done: RTS, engines ready, on that socket. active: we are the initiator.
 * -EINVAL: the QP is not in INIT or RTR any more; -ENOMEM. May sleep.
 */
int iw_qp_start(struct iw_qp *qp, struct sock *sk, const struct mpa_terms *terms, bool active);
/* READs and atomics under way that were agreed on: the peer's, ours. */
void iw_qp_depths(const struct iw_qp *qp, u8 *ird, u8 *ord);

#endif
