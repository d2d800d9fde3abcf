// SPDX-License-Identifier: GPL-2.0
/*
 * Payload straight out of the sender's memory, and the addresses and headers that
 * the packet would have had.
 *
 * Spans of the source live within one call. So they are gone before the
 * receiver invalidates a key, which may be theirs (see mem.h).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "mem/sgl.h"
#include "mem/span.h"
#include "proto/opcode.h"
#include "roce/wire/path.h"
#include "roce/wire/source.h"
#include "tern-abi.h"

int roce_source_check(const struct roce_source *src, u32 n)
{
	struct tern_sgl sgl;
	int err;

	if (!src->sge || !n)
		return 0;
	tern_sgl_begin(&sgl, src->mem, src->sge, src->num_sge, 0);
	err = tern_sgl_walk(&sgl, src->off, n, NULL, NULL);
	tern_sgl_end(&sgl);
	return err;
}

/* Where a copy has come to: a span or a list, and the offset in it. */
struct sink {
	const struct tern_span *span;
	struct tern_sgl *sgl;
	u64 off;
	int err;
};

static int put_in_sink(void *arg, const void *p, size_t n)
{
	struct sink *sink = arg;

	if (sink->span)
		tern_span_write(sink->span, sink->off, p, n);
	else
		sink->err = tern_sgl_write(sink->sgl, sink->off, p, n);
	sink->off += n;
	return sink->err;
}

static int copy_to_sink(struct roce_source *src, u32 off, u32 n, struct sink *sink)
{
	struct tern_sgl sgl;
	int err;

	if (src->flat)
		return put_in_sink(sink, src->flat + src->off + off, n);
	if (src->span)
		return tern_span_walk(src->span, src->off + off, n, put_in_sink, sink);
	tern_sgl_begin(&sgl, src->mem, src->sge, src->num_sge, 0);
	err = tern_sgl_walk(&sgl, src->off + off, n, put_in_sink, sink);
	tern_sgl_end(&sgl);
	if (err && !sink->err)
		src->refused = err;
	return err;
}

int roce_source_to_span(struct roce_source *src, u32 off, const struct tern_span *span,
			u64 span_off, u32 n)
{
	struct sink sink = { .span = span, .off = span_off };

	return copy_to_sink(src, off, n, &sink);
}

int roce_source_to_sgl(struct roce_source *src, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n)
{
	struct sink sink = { .sgl = sgl, .off = sgl_off };

	return copy_to_sink(src, off, n, &sink);
}

/* From the network header to the ICRC. */
static u32 packet_bytes(const struct roce_source *src, const struct pkt *k)
{
	return roce_path_net_bytes(src->path) + opcode_info(k->opcode)->hdr_bytes +
	       ALIGN(k->payload_bytes, 4) + ICRC_BYTES;
}

void roce_source_grh(const struct roce_source *src, const struct pkt *k, u8 grh[GRH_BYTES])
{
	struct ipv6hdr ip6;
	struct iphdr ip;

	switch (src->path->network) {
	case RDMA_NETWORK_ROCE_V1:
		roce_path_grh(src->path, grh, packet_bytes(src, k));
		break;
	case RDMA_NETWORK_IPV6:
		roce_path_ip6(src->path, &ip6, packet_bytes(src, k));
		memcpy(grh, &ip6, sizeof(ip6));
		break;
	default:
		roce_path_ip4(src->path, &ip, packet_bytes(src, k), src->ip_id);
		ip_send_check(&ip);
		memset(grh, 0, GRH_BYTES - sizeof(ip));
		memcpy(grh + GRH_BYTES - sizeof(ip), &ip, sizeof(ip));
	}
}

/* As by `lo`: no VLAN, no MAC address. */
void roce_source_fill_cqe(const struct roce_source *src, const struct pkt *k, struct tern_cqe *cqe)
{
	cqe->wc_flags |= TERN_WC_GRH | TERN_WC_WITH_NETWORK_HDR;
	cqe->network_hdr_type = src->path->network;
	cqe->pkey_index = 0;
	cqe->sl = 0;
	if (k->op_flags & OPF_DETH)
		cqe->src_qp = k->sqpn;
}
