// SPDX-License-Identifier: GPL-2.0
/*
 * Transport headers between wire and struct pkt. opcode.c's table says which headers an opcode has;
 * this file only knows where the fields are (IBTA 9.2, 9.3), and reads nothing before its length is
 * known.
 */
#include "pkt.h"

/* In the BTH's first word: opcode, these, P_Key. */
enum bth_bits {
	BTH0_SOLICITED	= 1 << 23,
	BTH0_MIGRATED	= 1 << 22,
	BTH0_PAD_SHIFT	= 20,
	BTH0_PAD_MASK	= 3,
	BTH0_VERSION_MASK = 0xf << 16,
	BTH0_OPCODE_SHIFT = 24,
};

/* In the second word, before the destination QP; in the third one, before the PSN. */
#define BTH1_FECN	(1u << 31)
#define BTH1_BECN	(1u << 30)
#define BTH2_ACK_REQ	(1u << 31)

/* Fields of three bytes: the rest of their word. */
#define LOW_24		0xffffffu

static_assert(BTH_BYTES + CNP_RESERVED_BYTES <= PKT_HDR_MAX_BYTES, "CNP fits the header buffer");
static_assert(BTH_BYTES + XRCETH_BYTES + RETH_BYTES + IMMDT_BYTES <= PKT_HDR_MAX_BYTES,
	      "WRITE_ONLY_IMM fits");

static void bth_parse(const u8 *p, struct pkt *k)
{
	u32 word = get_unaligned_be32(p);

	k->opcode = (u8)(word >> BTH0_OPCODE_SHIFT);
	k->solicited = word & BTH0_SOLICITED;
	k->migrated = word & BTH0_MIGRATED;
	k->pad_bytes = (word >> BTH0_PAD_SHIFT) & BTH0_PAD_MASK;
	k->pkey = (u16)word;
	word = get_unaligned_be32(p + 4);
	k->fecn = word & BTH1_FECN;
	k->becn = word & BTH1_BECN;
	k->dqpn = word & LOW_24;
	word = get_unaligned_be32(p + 8);
	k->ack_req = word & BTH2_ACK_REQ;
	k->psn = word & LOW_24;
}

/* Zero what the opcode does not carry. Cheaper than clearing all and filling some. */
static void eth_clear(struct pkt *k)
{
	k->syndrome = 0;
	k->feth = 0;
	k->msn = 0;
	k->va = 0;
	k->rkey = 0;
	k->dma_bytes = 0;
	k->swap_add = 0;
	k->compare = 0;
	k->atomic_orig = 0;
	k->qkey = 0;
	k->sqpn = 0;
	k->imm = 0;
	k->inv_rkey = 0;
	k->srqn = 0;
}

static u8 *bth_build(u8 *p, const struct pkt *k)
{
	put_unaligned_be32((u32)k->opcode << BTH0_OPCODE_SHIFT |
				   (k->solicited ? BTH0_SOLICITED : 0) |
				   (k->migrated ? BTH0_MIGRATED : 0) |
				   (u32)k->pad_bytes << BTH0_PAD_SHIFT | k->pkey, p);
	put_unaligned_be32((k->fecn ? BTH1_FECN : 0) | (k->becn ? BTH1_BECN : 0) |
				   (k->dqpn & LOW_24), p + 4);
	put_unaligned_be32((k->ack_req ? BTH2_ACK_REQ : 0) | (k->psn & LOW_24), p + 8);
	return p + BTH_BYTES;
}

/*
 * The extended headers that flags require, in wire order. Parsing and building walk the same
 * sequence; the caller has checked that it fits.
 */
static void eth_parse(const u8 *p, u32 flags, struct pkt *k)
{
	if (flags & OPF_XRCETH) {
		k->srqn = get_unaligned_be32(p) & LOW_24;
		p += XRCETH_BYTES;
	}
	if (flags & OPF_DETH) {
		k->qkey = get_unaligned_be32(p);
		k->sqpn = get_unaligned_be32(p + 4) & LOW_24;
		p += DETH_BYTES;
	}
	if (flags & OPF_FETH) {
		k->feth = get_unaligned_be32(p) & (FETH_PLACEMENT_MASK | FETH_SELECTIVITY_MASK);
		p += FETH_BYTES;
	}
	if (flags & OPF_RETH) {
		k->va = get_unaligned_be64(p);
		k->rkey = get_unaligned_be32(p + 8);
		k->dma_bytes = get_unaligned_be32(p + 12);
		p += RETH_BYTES;
	}
	if (flags & OPF_ATOMICETH) {
		k->va = get_unaligned_be64(p);
		k->rkey = get_unaligned_be32(p + 8);
		k->swap_add = get_unaligned_be64(p + 12);
		k->compare = get_unaligned_be64(p + 20);
		p += ATOMICETH_BYTES;
	}
	if (flags & OPF_AETH) {
		k->syndrome = p[0];
		k->msn = get_unaligned_be32(p) & LOW_24;
		p += AETH_BYTES;
	}
	if (flags & OPF_ATOMICACK) {
		k->atomic_orig = get_unaligned_be64(p);
		p += ATOMICACKETH_BYTES;
	}
	if (flags & OPF_IMM) {
		memcpy(&k->imm, p, IMMDT_BYTES);
		p += IMMDT_BYTES;
	}
	if (flags & OPF_IETH)
		k->inv_rkey = get_unaligned_be32(p);
}

static void eth_build(u8 *p, u32 flags, const struct pkt *k)
{
	if (flags & OPF_XRCETH) {
		put_unaligned_be32(k->srqn & LOW_24, p);
		p += XRCETH_BYTES;
	}
	if (flags & OPF_DETH) {
		put_unaligned_be32(k->qkey, p);
		put_unaligned_be32(k->sqpn & LOW_24, p + 4);
		p += DETH_BYTES;
	}
	if (flags & OPF_FETH) {
		put_unaligned_be32(k->feth, p);
		p += FETH_BYTES;
	}
	if (flags & OPF_RETH) {
		put_unaligned_be64(k->va, p);
		put_unaligned_be32(k->rkey, p + 8);
		put_unaligned_be32(k->dma_bytes, p + 12);
		p += RETH_BYTES;
	}
	if (flags & OPF_ATOMICETH) {
		put_unaligned_be64(k->va, p);
		put_unaligned_be32(k->rkey, p + 8);
		put_unaligned_be64(k->swap_add, p + 12);
		put_unaligned_be64(k->compare, p + 20);
		p += ATOMICETH_BYTES;
	}
	if (flags & OPF_AETH) {
		put_unaligned_be32((u32)k->syndrome << 24 | (k->msn & LOW_24), p);
		p += AETH_BYTES;
	}
	if (flags & OPF_ATOMICACK) {
		put_unaligned_be64(k->atomic_orig, p);
		p += ATOMICACKETH_BYTES;
	}
	if (flags & OPF_IMM) {
		memcpy(p, &k->imm, IMMDT_BYTES);
		p += IMMDT_BYTES;
	}
	if (flags & OPF_IETH) {
		put_unaligned_be32(k->inv_rkey, p);
		p += IETH_BYTES;
	}
	if (flags & OPF_CNP)
		memset(p, 0, CNP_RESERVED_BYTES);
}

/* Payload and pad fill `bytes` between headers and ICRC: is that legal? */
static bool payload_fits(u32 flags, u32 bytes, u32 pad_bytes)
{
	if (!(flags & OPF_PAYLOAD) || !bytes)
		return !bytes && !pad_bytes;
	/* bytes is at least 4 here, pad at most 3: the payload is not empty. */
	return bytes % 4 == 0 && bytes - pad_bytes <= 0xffff;
}

static enum pkt_error pkt_parse_checked(const u8 *p, u32 have, u32 bytes, struct pkt *k)
{
	const struct opcode_info *info;
	u32 rest;

	if (have < BTH_BYTES || bytes < BTH_BYTES + ICRC_BYTES)
		return PKT_TOO_SHORT;
	if (get_unaligned_be32(p) & BTH0_VERSION_MASK)
		return PKT_BAD_VERSION;
	info = opcode_info(p[0]);
	if (!info->flags)
		return PKT_BAD_OPCODE;
	if (have < info->hdr_bytes || bytes < info->hdr_bytes + (u32)ICRC_BYTES)
		return PKT_TOO_SHORT;

	bth_parse(p, k);
	rest = bytes - info->hdr_bytes - ICRC_BYTES;
	if (!payload_fits(info->flags, rest, k->pad_bytes))
		return PKT_BAD_LENGTH;
	eth_clear(k);
	eth_parse(p + BTH_BYTES, info->flags, k);
	k->hdr_bytes = info->hdr_bytes;
	k->payload_bytes = rest - k->pad_bytes;
	k->npkts = 1;
	k->op_flags = info->flags;
	return PKT_OK;
}

enum pkt_error pkt_parse(const u8 *p, u32 have, u32 bytes, struct pkt *out)
{
	enum pkt_error err = pkt_parse_checked(p, have, bytes, out);

	if (err) {
		memset(out, 0, sizeof(*out));
		if (have && bytes)
			out->opcode = p[0];
	}
	return err;
}

u32 pkt_build(u8 *p, struct pkt *k)
{
	const struct opcode_info *info = opcode_info(k->opcode);

	k->hdr_bytes = info->hdr_bytes;
	k->pad_bytes = -k->payload_bytes & 3;
	if (info->flags)
		eth_build(bth_build(p, k), info->flags, k);
	return info->hdr_bytes;
}
