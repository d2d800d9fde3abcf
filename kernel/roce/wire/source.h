/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a run's payload is: the sender's own memory. Packets are filled from it.
 * A QP of this host that is delivered to without a packet reads it here, and finds
 * the addresses and headers that the packet would have had.
 */
#ifndef TERN_ROCE_WIRE_SOURCE_H
#define TERN_ROCE_WIRE_SOURCE_H

#include <linux/types.h>

#include "proto/pkt.h"

struct roce_path;
struct tern_cqe;
struct tern_mem_ctx;
struct tern_sge;
struct tern_sgl;
struct tern_span;

/* From byte off on of one of flat, sge and span; of none if there is no payload. */
struct roce_source {
	const struct roce_path *path;	/* the sender's: where from and where to */
	u16 ip_id;			/* of the IPv4 packet that it would have been */
	int refused;			/* set: the error of reading it, so nothing came */
	bool waits;			/* set: no receive WQE, or pages: bring it again */
	bool unfinished;		/* set: bring it again at once, for more of it to be done */
	const u8 *flat;
	const struct tern_mem_ctx *mem;
	const struct tern_sge *sge;
	u32 num_sge;
	const struct tern_span *span;
	u64 off;
};

/* May [0, n) of the payload be read now? 0 or the memory's error. */
int roce_source_check(const struct roce_source *src, u32 n);

/*
 * Copy n payload bytes from payload offset off to a span or list. If the source could
 * not be read, refused is set. BHs off.
 */
int roce_source_to_span(struct roce_source *src, u32 off, const struct tern_span *span,
			u64 span_off, u32 n);
int roce_source_to_sgl(struct roce_source *src, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n);

/* As roce_skb_grh() and roce_skb_fill_cqe(), of a packet k. */
void roce_source_grh(const struct roce_source *src, const struct pkt *k, u8 grh[GRH_BYTES]);
void roce_source_fill_cqe(const struct roce_source *src, const struct pkt *k,
			  struct tern_cqe *cqe);

#endif
