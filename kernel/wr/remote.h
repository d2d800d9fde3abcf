/* SPDX-License-Identifier: GPL-2.0 */
/* What a responder does to memory for a peer's READ or atomic. */
#ifndef TERN_WR_REMOTE_H
#define TERN_WR_REMOTE_H

#include "mem/ctx.h"
#include "proto/atomic.h"
#include "tern-abi.h"

/*
 * May the peer read [va, va + length) with this key? 0 or the error of tern_span_get(). The
 * responses look again: this is the answer to the request as a whole. BHs off.
 */
int tern_wr_check_read(const struct tern_mem_ctx *mem, u32 key, u64 va, u32 length);

/*
 * Carries out the operation on the 8 bytes at va; *orig is what they were. 0; the error of
 * tern_span_get(); or -EDOM: they are not aligned. BHs off.
 */
int tern_wr_atomic(const struct tern_mem_ctx *mem, u32 key, u64 va, const struct atomic_op *op,
		   u64 *orig);

#endif
