/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files about completion queues, and the QP's, share. */
#ifndef TERN_PROVIDER_CQ_H
#define TERN_PROVIDER_CQ_H

#include <cstdint>

#include "objects.h"

namespace tern {

/* What an extended CQ can be asked to report. */
inline constexpr uint64_t kCqExWcFlags =
	uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
	IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

/* Set the functions of the extended interface; wc_flags are among kCqExWcFlags. */
void cq_ex_init(Cq *cq, uint64_t wc_flags);

/*
 * A QP is gone or was reset: drop its unpolled CQEs. Takes the CQ's lock, so
 * not between start_poll and end_poll. cq may be NULL.
 */
void cq_forget_qp(ibv_cq *cq, uint32_t qp_num);

/* A poll found something, or nothing; then it may yield the CPU, so the CQ is not locked. */
void note_found(const Cq *cq);
void note_empty(const Cq *cq);

} // namespace tern

#endif
