// SPDX-License-Identifier: GPL-2.0
/*
 * Payload out of what a QP is given, into spans and lists, whatever it came in.
 */
#include "mem/sgl.h"
#include "mem/span.h"
#include "roce/qp/packet.h"

/* Are [off, off + n) all payload? */
static bool has_payload(const struct roce_rx *rx, u32 off, u32 n)
{
	return off <= rx->k.payload_bytes && n <= rx->k.payload_bytes - off;
}

int roce_rx_to_span(const struct roce_rx *rx, u32 off, const struct tern_span *span, u64 span_off,
		    u32 n)
{
	u32 at = rx->at + rx->k.hdr_bytes + off;
	const u8 *p;

	if (WARN_ON_ONCE(!has_payload(rx, off, n)))
		return -EINVAL;
	if (roce_rx_is_local(rx))
		return roce_source_to_span(rx->src, off, span, span_off, n);
	p = roce_skb_flat(rx->skb, at, n);
	if (likely(p))
		tern_span_write(span, span_off, p, n);
	else
		roce_skb_to_span(rx->skb, at, span, span_off, n);
	return 0;
}

int roce_rx_to_sgl(const struct roce_rx *rx, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n)
{
	u32 at = rx->at + rx->k.hdr_bytes + off;
	const u8 *p;

	if (WARN_ON_ONCE(!has_payload(rx, off, n)))
		return -EINVAL;
	if (roce_rx_is_local(rx))
		return roce_source_to_sgl(rx->src, off, sgl, sgl_off, n);
	p = roce_skb_flat(rx->skb, at, n);
	if (likely(p))
		return tern_sgl_write(sgl, sgl_off, p, n);
	return roce_skb_to_sgl(rx->skb, at, sgl, sgl_off, n);
}
