/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The global route header, which RoCEv1 has between Ethernet and BTH (IBTA 8.3, annex A16). Its
 * layout is that of an IPv6 header.
 */
#ifndef TERN_PROTO_GRH_H
#define TERN_PROTO_GRH_H

#include "opcode.h"

enum {
	GRH_VERSION	= 6,
	GRH_NEXT_BTH	= 0x1b,		/* what follows is a BTH */
	GRH_LENGTH	= 4,
	GRH_NEXT	= 6,
	GRH_HOPS	= 7,
	GRH_SGID	= 8,
	GRH_DGID	= 24,
	GID_BYTES	= 16,
};

/*
 * How many bytes the GRH at p announces behind itself, from BTH to ICRC. 0: it is of another
 * version or protocol. Reads GRH_BYTES.
 */
static inline u32 grh_announces(const u8 *p)
{
	if (p[0] >> 4 != GRH_VERSION || p[GRH_NEXT] != GRH_NEXT_BTH)
		return 0;
	return get_unaligned_be16(p + GRH_LENGTH);
}

/* Write GRH_BYTES at p. bytes: from BTH to ICRC. */
static inline void grh_build(u8 *p, u8 tclass, u32 flow_label, u16 bytes, u8 hop_limit,
			     const u8 *sgid, const u8 *dgid)
{
	put_unaligned_be32((u32)GRH_VERSION << 28 | (u32)tclass << 20 | (flow_label & 0xfffff), p);
	put_unaligned_be16(bytes, p + GRH_LENGTH);
	p[GRH_NEXT] = GRH_NEXT_BTH;
	p[GRH_HOPS] = hop_limit;
	memcpy(p + GRH_SGID, sgid, GID_BYTES);
	memcpy(p + GRH_DGID, dgid, GID_BYTES);
}

#endif
