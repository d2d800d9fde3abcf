/* SPDX-License-Identifier: GPL-2.0 */
/* Invalidation of keys. */
#ifndef TERN_MEM_INVALIDATE_H
#define TERN_MEM_INVALIDATE_H

#include <linux/types.h>

struct tern_mem_ctx;

/*
 * 0 or -EINVAL/-EACCES. remote: SEND_WITH_INV from the peer; user MRs and type 1 windows cannot
 * be invalidated. Any context up to softirq; the caller holds no span.
 */
int tern_mem_invalidate(const struct tern_mem_ctx *ctx, u32 key, bool remote);

#endif
