// SPDX-License-Identifier: GPL-2.0
/* READs and atomics of a peer at the memory that they name, for both transports. */
#include "mem/ctx.h"
#include <rdma/ib_verbs.h>

#include "mem/span.h"
#include "wr/remote.h"

int tern_wr_check_read(const struct tern_mem_ctx *mem, u32 key, u64 va, u32 length)
{
	struct tern_span span;
	int err = tern_span_get(mem, key, va, length, IB_ACCESS_REMOTE_READ, &span);

	if (!err)
		tern_span_put(&span);
	return err;
}

int tern_wr_atomic(const struct tern_mem_ctx *mem, u32 key, u64 va, const struct atomic_op *op,
		   u64 *orig)
{
	struct tern_span span;
	int err = tern_span_get(mem, key, va, sizeof(*orig), IB_ACCESS_REMOTE_ATOMIC, &span);

	if (err)
		return err;
	err = tern_span_present(mem, &span, 0, sizeof(*orig), 0, IB_ACCESS_REMOTE_ATOMIC);
	if (!err && tern_span_atomic(&span, op, orig))
		err = -EDOM;
	tern_span_put(&span);
	return err;
}
