/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The extended polling interface of a CQ. */
#ifndef TERN_PROVIDER_CQ_EX_H
#define TERN_PROVIDER_CQ_EX_H

#include <cstdint>

#include "objects.h"

namespace tern {

/* What an extended CQ can be asked to report. */
inline constexpr uint64_t kCqExWcFlags =
	uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
	IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

/* Set the functions of the extended interface; wc_flags are among kCqExWcFlags. */
void cq_ex_init(Cq *cq, uint64_t wc_flags);

} // namespace tern

#endif
