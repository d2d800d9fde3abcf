/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The input of a QP, as a packet in an skb or without one: from here on both are the
 * same. Everything here is called with the run lock held, except roce_rx_from_path().
 */
#ifndef TERN_ROCE_QP_PACKET_H
#define TERN_ROCE_QP_PACKET_H

#include "mem/sgl.h"
#include "mem/span.h"
#include "roce/wire/path.h"
#include "roce/wire/skb.h"
#include "roce/wire/source.h"
#include "tern-abi.h"

/* Did it come straight from a QP of this host? */
static inline bool roce_rx_is_local(const struct roce_rx *rx)
{
	return !rx->skb;
}

/* Did copying fail for the sender's reason? Then it is as if nothing had come. */
static inline bool roce_rx_is_void(const struct roce_rx *rx)
{
	return roce_rx_is_local(rx) && rx->src->refused;
}

/* The first n bytes of the payload if they are in one piece, in an skb's head say; or NULL. */
static inline const void *roce_rx_flat(const struct roce_rx *rx, u32 n)
{
	if (n > rx->k.payload_bytes)
		return NULL;
	if (roce_rx_is_local(rx))
		return rx->src->flat ? rx->src->flat + rx->src->off : NULL;
	return roce_skb_flat(rx->skb, rx->at + rx->k.hdr_bytes, n);
}

/* Copy n payload bytes from payload offset off to a span or SGL. 0 or an error of either side. */
int roce_rx_to_span(const struct roce_rx *rx, u32 off, const struct tern_span *span, u64 span_off,
		    u32 n);
int roce_rx_to_sgl(const struct roce_rx *rx, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n);

/* UD: the 40 bytes that go before the payload, and the L2/L3 fields of a CQE. */
static inline void roce_rx_grh(const struct roce_rx *rx, u8 grh[GRH_BYTES])
{
	if (roce_rx_is_local(rx))
		roce_source_grh(rx->src, &rx->k, grh);
	else
		roce_skb_grh(rx, grh);
}

static inline void roce_rx_fill_cqe(const struct roce_rx *rx, struct tern_cqe *cqe)
{
	if (roce_rx_is_local(rx))
		roce_source_fill_cqe(rx->src, &rx->k, cqe);
	else
		roce_skb_fill_cqe(rx, cqe);
}

/* Does it come from the peer that path points at (addresses)? */
static inline bool roce_rx_from_path(const struct roce_rx *rx, const struct roce_path *path)
{
	return roce_rx_is_local(rx) ? roce_path_is_back(path, rx->src->path) :
				      roce_skb_from_path(rx->skb, path);
}

#endif
