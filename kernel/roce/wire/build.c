// SPDX-License-Identifier: GPL-2.0
/*
 * Packets into a batch. The headers are complete before the ICRC is computed over
 * them. The stack leaves the covered ones as they are, or makes them so again when it
 * or the netdev takes a batch apart: lengths to what they are, IPv4 identifications
 * counting upwards from the first one's.
 *
 * In a list each packet is a linear skb of its own. Packets that the netdev cuts lie
 * one behind the other on pages, from BTH to ICRC. Those of RoCEv1 are a list until
 * tx.c sends each.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "crc.h"
#include "core/device.h"
#include "mem/page.h"
#include "proto/opcode.h"
#include "roce/wire/build.h"
#include "roce/wire/icrc.h"
#include "roce/wire/path.h"

/* Room for `bytes`, network header first, on a piece of a page that was used before. */
static struct sk_buff *alloc_packet(const struct roce_tx *tx, u32 bytes)
{
	/* the route may lead through a VLAN on the netdev */
	u32 headroom = ALIGN(LL_RESERVED_SPACE(tx->dev->netdev) + VLAN_HLEN, 16);
	u32 size = SKB_DATA_ALIGN(headroom + bytes) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *piece = tern_page_piece(size);
	struct sk_buff *skb;

	if (unlikely(!piece))
		return NULL;
	skb = napi_build_skb(piece, size);
	if (unlikely(!skb)) {
		put_page(virt_to_head_page(piece));
		return NULL;
	}
	skb_reserve(skb, headroom);
	return skb;
}

/* From BTH to ICRC. */
static u32 transport_bytes(const struct pkt *k)
{
	return opcode_info(k->opcode)->hdr_bytes + ALIGN(k->payload_bytes, 4) + ICRC_BYTES;
}

bool roce_tx_cut_fits(const struct roce_tx *tx, const struct pkt *k)
{
	const struct roce_tx_batch *batch = &tx->batch;
	u32 bytes = transport_bytes(k);

	return batch->npkts < tx->cut_max_pkts && batch->bytes + bytes <= tx->cut_max_bytes &&
	       bytes <= batch->cut_bytes && !batch->cut_ended &&
	       skb_shinfo(batch->head)->nr_frags < MAX_SKB_FRAGS;
}

void *roce_tx_begin(struct roce_tx *tx, const struct roce_path *path, struct pkt *k)
{
	u32 net_bytes = roce_path_net_bytes(path);
	struct roce_tx_open *open = &tx->open;

	open->bytes = transport_bytes(k);
	if (tx->batch.cut_bytes) {
		open->skb = NULL;
		open->at = tern_page_more(tx->batch.end, open->bytes);
		if (unlikely(!open->at))
			return NULL;
	} else {
		open->skb = alloc_packet(tx, net_bytes + open->bytes);
		if (unlikely(!open->skb))
			return NULL;
		skb_reset_network_header(open->skb);
		skb_set_transport_header(open->skb, roce_path_ip_bytes(path));
		open->at = skb_put(open->skb, net_bytes + open->bytes) + net_bytes;
	}
	pkt_build(open->at, k);
	/* the pad; the rest of its word is payload that is still to come, if there is one */
	if (k->payload_bytes & 3)
		put_unaligned(0, (u32 *)(open->at + open->bytes - ICRC_BYTES) - 1);
	return open->at + opcode_info(k->opcode)->hdr_bytes;
}

void roce_tx_cancel(struct roce_tx *tx)
{
	struct roce_tx_open *open = &tx->open;

	if (open->skb)
		consume_skb(open->skb);
	else if (open->at != tx->batch.end)
		put_page(virt_to_head_page(open->at));
}

/* Of a packet with `bytes` behind it. The checksum is zero: the ICRC does better (RoCEv2 annex). */
static __always_inline void build_udp(const struct roce_path *path, struct udphdr *udp, u32 bytes)
{
	udp->source = path->src_port;
	udp->dest = htons(ROCE_UDP_PORT);
	udp->len = htons(sizeof(*udp) + bytes);
	udp->check = 0;
}

/* What goes before the BTH of a packet with `bytes` from there on. */
static __always_inline void build_headers(struct roce_tx *tx, const struct roce_path *path,
					  u8 *headers, u32 bytes)
{
	u32 all = roce_path_net_bytes(path) + bytes;

	switch (path->network) {
	case RDMA_NETWORK_ROCE_V1:
		roce_path_grh(path, headers, all);
		return;
	case RDMA_NETWORK_IPV6:
		roce_path_ip6(path, (struct ipv6hdr *)headers, all);
		break;
	default:
		roce_path_ip4(path, (struct iphdr *)headers, all, tx->ip_id++);
	}
	build_udp(path, (struct udphdr *)(headers + roce_path_ip_bytes(path)), bytes);
}

/* headers: up to and with the BTH. The ICRC goes to the end of [at, at + bytes), BTH first. */
static __always_inline void put_icrc(struct roce_tx *tx, const struct roce_path *path,
				     const struct pkt *k, const u8 *headers)
{
	struct icrc_memo *memo = &tx->icrc[opcode_info(k->opcode)->flags & OPF_REQUEST ? 1 : 0];
	u8 *end = tx->open.at + tx->open.bytes - ICRC_BYTES;
	u8 *after_bth = tx->open.at + BTH_BYTES;
	u32 crc;

	crc = roce_icrc_start(headers, path->network, memo);
	crc = tern_crc32(crc, after_bth, end - after_bth);
	put_unaligned_le32(icrc_finish(crc), end);
}

/* The first of a batch, or one more of a list. */
static void end_skb(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k)
{
	struct roce_tx_batch *batch = &tx->batch;
	struct sk_buff *skb = tx->open.skb;

	build_headers(tx, path, skb_network_header(skb), tx->open.bytes);
	put_icrc(tx, path, k, skb_network_header(skb));

	batch->max_bytes = max(batch->max_bytes, skb->len);
	if (!batch->head) {
		batch->head = skb;
		batch->bytes = skb->len;
		if (tx->cut_max_bytes && path->network != RDMA_NETWORK_ROCE_V1)
			batch->cut_bytes = tx->open.bytes;
		return;
	}
	/* A segment's data begins behind its headers, wherever the stack meets one. */
	__skb_pull(skb, roce_path_net_bytes(path));
	batch->bytes += skb->len;
	if (batch->tail)
		batch->tail->next = skb;
	else
		skb_shinfo(batch->head)->frag_list = skb;
	batch->tail = skb;
}

/* One more that the netdev is to cut off: it gives it the headers that it has here. */
static void end_cut(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k)
{
	u8 headers[sizeof(struct ipv6hdr) + sizeof(struct udphdr) + BTH_BYTES] __aligned(8);
	struct roce_tx_batch *batch = &tx->batch;
	struct skb_shared_info *shinfo = skb_shinfo(batch->head);
	const struct roce_tx_open *open = &tx->open;

	build_headers(tx, path, headers, open->bytes);
	memcpy(headers + roce_path_net_bytes(path), open->at, BTH_BYTES);
	put_icrc(tx, path, k, headers);

	if (open->at == batch->end)
		skb_frag_size_add(&shinfo->frags[shinfo->nr_frags - 1], open->bytes);
	else
		skb_fill_page_desc(batch->head, shinfo->nr_frags, virt_to_head_page(open->at),
				   open->at - page_address(virt_to_head_page(open->at)),
				   open->bytes);
	batch->head->truesize += open->bytes;
	batch->end = open->at + open->bytes;
	batch->bytes += open->bytes;
	batch->cut_ended = open->bytes < batch->cut_bytes;
}

void roce_tx_end(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k)
{
	if (tx->open.skb)
		end_skb(tx, path, k);
	else
		end_cut(tx, path, k);
	tx->batch.payload_bytes += k->payload_bytes;
	tx->batch.npkts++;
}
