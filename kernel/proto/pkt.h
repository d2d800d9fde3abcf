/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One RoCE packet's transport headers (BTH and the extended headers of its opcode, IBTA 9.2 and
 * 9.3) as host-order fields: parsed with an explicit remaining length, built into a caller's
 * buffer. Only formats: the engines decide whether a packet makes sense.
 */
#ifndef TERN_PROTO_PKT_H
#define TERN_PROTO_PKT_H

#include "opcode.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	ROCE_UDP_PORT		= 4791,
	PKEY_DEFAULT		= 0xffff,
	QPN_GSI			= 1,
	QPN_MCAST		= 0xffffff,
	QKEY_GSI		= (int)0x80010000,
};

/* AETH syndromes (IBTA 9.7.5.1.2, table 58). */
enum aeth_syndrome {
	AETH_ACK		= 0x00,
	AETH_RNR_NAK		= 0x20,
	AETH_NAK		= 0x60,
	AETH_TYPE_MASK		= 0xe0,
	AETH_VALUE_MASK		= 0x1f,
	AETH_CREDIT_UNLIMITED	= 0x1f,
	AETH_NAK_PSN_SEQ	= 0x60,
	AETH_NAK_INVALID_REQ	= 0x61,
	AETH_NAK_REM_ACCESS	= 0x62,
	AETH_NAK_REM_OP		= 0x63,
	AETH_NAK_INV_RD_REQ	= 0x64,
};

static inline bool aeth_is_nak(u8 syndrome)
{
	return (syndrome & AETH_TYPE_MASK) == AETH_NAK ||
	       (syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK;
}

/*
 * FETH (IBTA annex A19): how far what was written is to go, and of which memory. The other bits of
 * its 32 are reserved.
 */
enum feth_bits {
	FETH_GLOBAL		= 0x01,	/* placement type: visible to all that access the memory */
	FETH_PERSISTENT		= 0x02,	/* placement type: survives a loss of power */
	FETH_PLACEMENT_MASK	= 0x0f,
	FETH_RANGE		= 0x00,	/* selectivity: the RETH's range */
	FETH_REGION		= 0x10,	/* selectivity: all of the region; the range is ignored */
	FETH_SELECTIVITY_MASK	= 0x30,
};

/*
 * Fields beyond the BTH are valid only if the opcode carries them. To build, the opcode decides
 * what is written, so callers fill only that.
 */
struct pkt {
	u8  opcode;
	bool solicited;
	bool migrated;
	bool ack_req;
	bool fecn, becn;
	u8  pad_bytes;		/* parse: as found; build: computed from payload_bytes */
	u16 pkey;
	u32 dqpn;
	u32 psn;

	u8  syndrome;		/* AETH */
	u8  feth;		/* FETH: enum feth_bits */
	u32 msn;
	u64 va;			/* RETH, AtomicETH */
	u32 rkey;
	u32 dma_bytes;		/* RETH */
	u64 swap_add;		/* AtomicETH */
	u64 compare;
	u64 atomic_orig;	/* AtomicAckETH */
	u32 qkey;		/* DETH */
	u32 sqpn;
	__be32 imm;		/* ImmDt, as on the wire */
	u32 inv_rkey;		/* IETH */
	u32 srqn;		/* XRCETH */

	u16 hdr_bytes;		/* parse: where the payload begins */
	u32 payload_bytes;	/* without pad and ICRC */
	u32 npkts;		/* parse: 1; more: run_stretch() */
	u32 op_flags;		/* opcode_info()->flags */
};

enum pkt_error {
	PKT_OK			= 0,
	PKT_TOO_SHORT		= -1,	/* headers, pad and ICRC do not fit */
	PKT_BAD_VERSION		= -2,	/* BTH TVer is not 0 */
	PKT_BAD_OPCODE		= -3,
	PKT_BAD_LENGTH		= -4,	/* pad without payload, payload not allowed, not 4 * n */
};

/*
 * Parse `bytes` bytes of UDP payload (BTH first, ICRC last) of which the first
 * `have` are readable at p; have must be at least min(bytes, PKT_HDR_MAX_BYTES).
 * On any error *out is zeroed except the opcode. Reads nothing outside [p, p + have).
 */
enum pkt_error pkt_parse(const u8 *p, u32 have, u32 bytes, struct pkt *out);

/*
 * Write the transport headers for k at p (room for PKT_HDR_MAX_BYTES) and
 * return their length. The payload, pad_bytes zero bytes and the ICRC follow.
 * k->pad_bytes and k->hdr_bytes are set.
 */
u32 pkt_build(u8 *p, struct pkt *k);

#ifdef __cplusplus
}
#endif

#endif
