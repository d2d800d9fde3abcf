// SPDX-License-Identifier: GPL-2.0
/*
 * Payload from the socket's queue to registered memory. Bytes in one skb's head, as those of short
 * messages are, go the short way; others chunk by chunk.
 */
#include "iwarp/stream/place.h"
#include "mem/sgl.h"
#include "mem/span.h"
#include "tern-abi.h"

/* The destination: sgl or span. */
struct sink {
	struct tern_sgl *sgl;
	struct tern_span *span;
	u64 off;
};

static int write_to_sink(void *arg, const u8 *p, u32 n)
{
	struct sink *sink = arg;
	int err = 0;

	if (sink->sgl)
		err = tern_sgl_write(sink->sgl, sink->off, p, n);
	else
		tern_span_write(sink->span, sink->off, p, n);
	sink->off += n;
	return err;
}

int iw_place_sges(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c,
		  const struct tern_sge *sge, u32 num_sge, u64 off, u32 n)
{
	struct tern_sgl sgl;
	struct sink sink = { .sgl = &sgl, .off = off };
	const u8 *p = iw_cursor_in_head(c, n);
	int err;

	if (!n)
		return 0;
	if (p)
		return tern_sges_write(&qp->base.mem, sge, num_sge, off, p, n);
	tern_sgl_begin(&sgl, &qp->base.mem, sge, num_sge, IB_ACCESS_LOCAL_WRITE);
	err = iw_cursor_walk(sk, c, n, write_to_sink, &sink);
	tern_sgl_end(&sgl);
	return err;
}

int iw_place_tagged(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c, u32 stag, u64 va,
		    u32 n)
{
	const u8 *p = iw_cursor_in_head(c, n);
	struct tern_span span;
	struct sink sink = { .span = &span };
	int err;

	if (p)
		return tern_span_write_once(&qp->base.mem, stag, va, n, IB_ACCESS_REMOTE_WRITE, 0,
					    p, n);
	err = tern_span_get(&qp->base.mem, stag, va, n, IB_ACCESS_REMOTE_WRITE, &span);
	if (err)
		return err;
	err = iw_cursor_walk(sk, c, n, write_to_sink, &sink);
	tern_span_put(&span);
	return err;
}
