// SPDX-License-Identifier: GPL-2.0
/*
 * ICRC of skbs, linear or not.
 */
#include <linux/percpu.h>

#include "crc.h"
#include "roce/wire/icrc.h"
#include "roce/wire/skb.h"

#define MEMOS	16

/*
 * What came last, for each CPU. Where packets of several QPs, or requests and
 * answers, take turns, they mostly find their own.
 */
static DEFINE_PER_CPU(struct icrc_memo [MEMOS], memos);

u32 roce_icrc_start(const u8 *headers, enum rdma_network_type network, struct icrc_memo *memo)
{
	switch (network) {
	case RDMA_NETWORK_ROCE_V1:
		return icrc_start_grh(crc32_slice, memo, headers);
	case RDMA_NETWORK_IPV6:
		return icrc_start_ipv6(crc32_slice, memo, headers);
	default:
		return icrc_start_ipv4(crc32_slice, memo, headers);
	}
}

/* CRC over [from, to) of skb's data, whatever that consists of. */
static u32 crc_of_skb(u32 crc, struct sk_buff *skb, u32 from, u32 to)
{
	struct skb_seq_state seq;
	unsigned int n;
	const u8 *p;
	u32 done = 0;

	skb_prepare_seq_read(skb, from, to, &seq);
	while ((n = skb_seq_read(done, &p, &seq))) {
		n = min(n, to - from - done);
		crc = tern_crc32(crc, p, n);
		done += n;
	}
	return crc;
}

static struct icrc_memo *find_memo(const struct pkt *k)
{
	u32 i = 2 * k->dqpn + (k->op_flags & OPF_REQUEST ? 1 : 0);

	return this_cpu_ptr(&memos[i % MEMOS]);
}

bool roce_icrc_ok(const struct roce_rx *rx)
{
	u32 end = rx->at + rx->bytes - ICRC_BYTES;
	struct sk_buff *skb = rx->skb;
	u8 trailer[ICRC_BYTES];
	const u8 *p;
	u32 crc;

	crc = roce_icrc_start(rx->headers, roce_skb_network(skb), find_memo(&rx->k));
	p = roce_skb_flat(skb, rx->at, rx->bytes);
	if (likely(p))
		crc = tern_crc32(crc, p + BTH_BYTES, rx->bytes - BTH_BYTES - ICRC_BYTES);
	else
		crc = crc_of_skb(crc, skb, rx->at + BTH_BYTES, end);

	p = skb_header_pointer(skb, end, ICRC_BYTES, trailer);
	return p && get_unaligned_le32(p) == icrc_finish(crc);
}
