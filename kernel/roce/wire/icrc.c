// SPDX-License-Identifier: GPL-2.0
/*
 * ICRC of skbs, linear or not.
 */
#include "crc.h"
#include "roce/wire/icrc.h"

#define MEMOS	16

/*
 * Of what came last, for each CPU: where packets of several QPs take turns, or
 * requests and answers do, they mostly find their own.
 */
static DEFINE_PER_CPU(struct icrc_memo [MEMOS], memos);

u32 roce_icrc_start(const u8 *headers, bool ipv6, struct icrc_memo *memo)
{
	/* As few bytes as the headers have are soonest looked up. */
	return ipv6 ? icrc_start_ipv6(tern_crc32_by_table, memo, headers) :
		      icrc_start_ipv4(tern_crc32_by_table, memo, headers);
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

bool roce_icrc_ok(struct sk_buff *skb, u32 at, u32 bytes, const u8 *headers, const struct pkt *k,
		  bool ipv6)
{
	u32 end = at + bytes - ICRC_BYTES;
	u8 trailer[ICRC_BYTES];
	const u8 *p;
	u32 crc;

	crc = roce_icrc_start(headers, ipv6, memo_of(k));
	p = roce_skb_flat(skb, at, bytes);
	if (likely(p))
		crc = tern_crc32(crc, p + BTH_BYTES, bytes - BTH_BYTES - ICRC_BYTES);
	else
		crc = crc_skb(crc, skb, at + BTH_BYTES, end);

	p = skb_header_pointer(skb, end, ICRC_BYTES, trailer);
	return p && get_unaligned_le32(p) == icrc_finish(crc);
}
