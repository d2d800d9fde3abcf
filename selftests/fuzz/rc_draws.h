/* SPDX-License-Identifier: GPL-2.0 */
/* What both halves of rc_fuzz.cc draw: lengths, PSNs, packets. */
#ifndef TERN_FUZZ_RC_DRAWS_H
#define TERN_FUZZ_RC_DRAWS_H

#include "fuzz.h"
#include "proto/opcode.h"
#include "proto/pkt.h"
#include "proto/psn.h"

// A length near a limit, or any.
inline u32 draw_length(Choices &in, u32 pmtu)
{
	switch (in.below(8)) {
	case 0:
		return 0;
	case 1:
		return in.byte();
	case 2:
		return pmtu;
	case 3:
		return pmtu * in.byte();
	case 4:
		return pmtu * in.byte() + 1;
	case 5:
		return pmtu * (in.byte() + 1u) - 1;
	case 6:
		return 0x80000000u - in.byte();
	default:
		return in.dword();
	}
}

// A PSN near an important one, or any.
inline u32 draw_psn(Choices &in, u32 near)
{
	u8 how = in.byte();

	if (how < 160)
		return near;
	if (how < 250)
		return psn_add(near, in.byte() - 100u);
	return in.dword() & PSN_MASK;
}

// As pkt_parse() or run_stretch() would fill it.
inline pkt draw_packet(Choices &in, u8 opcode, u32 psn, u32 pmtu)
{
	static const u8 syndromes[] = {0x1f, 0x00, 0x60, 0x61, 0x62, 0x63,
				       0x64, 0x21, 0x20, 0x7f, 0x40, 0x9f};
	pkt k = {};
	u8 how;

	k.opcode = opcode;
	k.op_flags = opcode_info(opcode)->flags;
	k.psn = psn;
	k.npkts = 1;
	how = in.byte();
	k.ack_req = how & 1;
	k.syndrome = in.below(4) ? syndromes[0] : syndromes[in.below(sizeof(syndromes))];
	k.msn = in.byte();
	k.va = in.below(16) * 8 + (in.below(16) == 0);
	k.rkey = in.below(2);
	k.swap_add = 1;
	k.feth = in.below(8) ? FETH_GLOBAL : in.byte() & 0x3f;
	k.dma_bytes = draw_length(in, pmtu);
	if (k.op_flags & OPF_PAYLOAD) {
		u32 n = draw_length(in, pmtu);

		// Usually what a correct peer sends.
		if (in.below(2))
			n = (k.op_flags & OPF_LAST) ? in.byte() : pmtu;
		if ((how & 6) == 6 && !(k.op_flags & OPF_ATOMIC_WRITE)) {
			// A stretch, usually of as many packets as its payload needs.
			if (n > 64 * pmtu)
				n = 64 * pmtu + (n & 1);
			k.npkts = n / pmtu + !!(n % pmtu) + (how >> 7);
			if (!k.npkts)
				k.npkts = 1;
			if ((how & 8) && !(k.op_flags & OPF_LAST))
				n = k.npkts * pmtu;
			k.payload_bytes = n;
		} else {
			k.payload_bytes = n > 4096 + pmtu ? 4096 + pmtu : n;
		}
		if (in.below(4) && (k.op_flags & OPF_FIRST) && (k.op_flags & OPF_LAST))
			k.dma_bytes = k.payload_bytes;
		if (k.op_flags & OPF_ATOMIC_WRITE && in.below(4))
			k.dma_bytes = k.payload_bytes = 8;
	}
	return k;
}

// By a choice.
inline constexpr u8 services[] = {BTH_UC, BTH_XRC, BTH_RC, BTH_RC};

#endif
