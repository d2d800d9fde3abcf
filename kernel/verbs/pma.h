/* SPDX-License-Identifier: GPL-2.0 */
/* The counters that every InfiniBand port has. ib_core asks for them by a MAD. */
#ifndef TERN_VERBS_PMA_H
#define TERN_VERBS_PMA_H

#include <rdma/ib_verbs.h>

int tern_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
		     const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_mad_size, u16 *out_mad_pkey_index);

#endif
