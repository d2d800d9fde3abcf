// SPDX-License-Identifier: GPL-2.0
/*
 * ICRC of skbs, linear or not.
 */
#include "crc.h"
#include "icrc.h"

#define MEMOS	16

/*
 * Of what came last, for each CPU: where packets of several QPs take turns, or
 * requests and answers do, they mostly find their own.
 */
static DEFINE_PER_CPU(struct icrc_memo [MEMOS], memos);

u32 roce_icrc_start(const struct sk_buff *skb, bool ipv6, struct icrc_memo *memo)
{
	const u8 *ip = skb_network_header(skb);

	/* As few bytes as the headers have are soonest looked up. */
	return ipv6 ? icrc_start_ipv6(tern_crc32_by_table, memo, ip) :
		      icrc_start_ipv4(tern_crc32_by_table, memo, ip);
}

/* CRC over [from, to) of skb's data, whatever that consists of. */
static u32 crc_skb(u32 crc, struct sk_buff *skb, u32 from, u32 to)
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

static struct icrc_memo *memo_of(const struct pkt *k)
{
	u32 i = 2 * k->dqpn + (k->op_flags & OPF_REQUEST ? 1 : 0);

	return this_cpu_ptr(&memos[i % MEMOS]);
}

bool roce_icrc_ok(struct sk_buff *skb, const struct pkt *k, bool ipv6)
{
	u32 end = skb->len - ICRC_BYTES;
	u8 trailer[ICRC_BYTES];
	const u8 *p;
	u32 crc;

	crc = roce_icrc_start(skb, ipv6, memo_of(k));
	if (likely(!skb_is_nonlinear(skb)))
		crc = tern_crc32(crc, skb->data + BTH_BYTES, end - BTH_BYTES);
	else
		crc = crc_skb(crc, skb, BTH_BYTES, end);

	p = skb_header_pointer(skb, end, ICRC_BYTES, trailer);
	return p && get_unaligned_le32(p) == icrc_finish(crc);
}
