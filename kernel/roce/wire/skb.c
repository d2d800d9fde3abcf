// SPDX-License-Identifier: GPL-2.0
/*
 * A received packet in an skb: what a QP may ask of it. The payload is never
 * linearised: it is copied once, from where the NIC put it to where the
 * application wants it.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "mem/sgl.h"
#include "mem/span.h"
#include "roce/wire/skb.h"
#include "tern-abi.h"

/* A copy of one of several, as roce_skb_parse() takes it. */
static struct sk_buff *copy_of(const struct roce_rx *rx)
{
	u32 net_bytes = skb_network_header_len(rx->skb) + sizeof(struct udphdr);
	struct sk_buff *skb = alloc_skb(net_bytes + rx->bytes, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	skb->protocol = rx->skb->protocol;
	*roce_skb_cb(skb) = *roce_skb_cb(rx->skb);
	skb_reset_network_header(skb);
	skb_put_data(skb, rx->headers, net_bytes);
	__skb_pull(skb, net_bytes);
	if (skb_copy_bits(rx->skb, rx->at, skb_put(skb, rx->bytes), rx->bytes)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

struct sk_buff *roce_skb_keep(struct roce_rx *rx)
{
	return rx->uncut ? copy_of(rx) : rx->skb;
}

struct sk_buff *roce_skb_ref(const struct roce_rx *rx)
{
	return rx->uncut ? copy_of(rx) : skb_get(rx->skb);
}

const u8 *roce_skb_frag_flat(const struct sk_buff *skb, u32 at, u32 n)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 i, bytes = skb_headlen(skb);

	for (i = 0; i < shinfo->nr_frags && at >= bytes; i++) {
		at -= bytes;
		bytes = skb_frag_size(&shinfo->frags[i]);
	}
	/* i: behind the frag that has it */
	if (!i || at + n > bytes || PageHighMem(skb_frag_page(&shinfo->frags[i - 1])))
		return NULL;
	return skb_frag_address(&shinfo->frags[i - 1]) + at;
}

void roce_skb_to_span(struct sk_buff *skb, u32 at, const struct tern_span *span, u64 span_off,
		      u32 n)
{
	struct skb_seq_state seq;
	u32 len, done = 0;
	const u8 *p;

	skb_prepare_seq_read(skb, at, at + n, &seq);
	while ((len = skb_seq_read(done, &p, &seq))) {
		len = min(len, n - done);
		tern_span_write(span, span_off + done, p, len);
		done += len;
	}
}

int roce_skb_to_sgl(struct sk_buff *skb, u32 at, struct tern_sgl *sgl, u64 sgl_off, u32 n)
{
	struct skb_seq_state seq;
	u32 len, done = 0;
	const u8 *p;
	int err;

	skb_prepare_seq_read(skb, at, at + n, &seq);
	while ((len = skb_seq_read(done, &p, &seq))) {
		len = min(len, n - done);
		err = tern_sgl_write(sgl, sgl_off + done, p, len);
		if (err) {
			skb_abort_seq_read(&seq);
			return err;
		}
		done += len;
	}
	return 0;
}

void roce_skb_grh(const struct roce_rx *rx, u8 grh[GRH_BYTES])
{
	BUILD_BUG_ON(sizeof(struct ipv6hdr) != GRH_BYTES);
	if (roce_skb_network(rx->skb) == RDMA_NETWORK_IPV4) {
		memset(grh, 0, GRH_BYTES - sizeof(struct iphdr));
		memcpy(grh + GRH_BYTES - sizeof(struct iphdr), rx->headers, sizeof(struct iphdr));
	} else {
		memcpy(grh, rx->headers, GRH_BYTES);
	}
}

void roce_skb_fill_cqe(const struct roce_rx *rx, struct tern_cqe *cqe)
{
	const struct roce_skb_cb *cb = roce_skb_cb(rx->skb);

	cqe->wc_flags |= TERN_WC_GRH | TERN_WC_WITH_NETWORK_HDR;
	cqe->network_hdr_type = roce_skb_network(rx->skb);
	cqe->pkey_index = 0;
	cqe->sl = cb->sl;
	if (rx->k.op_flags & OPF_DETH)
		cqe->src_qp = rx->k.sqpn;
	if (cb->has_vlan) {
		cqe->wc_flags |= TERN_WC_WITH_VLAN;
		cqe->vlan_id = cb->vlan_id;
	}
	if (cb->has_smac) {
		cqe->wc_flags |= TERN_WC_WITH_SMAC;
		ether_addr_copy(cqe->smac, cb->smac);
	}
}
