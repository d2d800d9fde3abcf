// SPDX-License-Identifier: GPL-2.0
// All members of struct pkt, for comparison without the padding between them.
#ifndef TERN_UNIT_PKT_MEMBERS_H
#define TERN_UNIT_PKT_MEMBERS_H

#include "proto/pkt.h"

#include <tuple>

inline auto pkt_members(const pkt &k)
{
	static_assert(sizeof(pkt) == 112, "a member more belongs in here");
	return std::make_tuple(k.opcode, k.solicited, k.migrated, k.ack_req, k.fecn, k.becn,
			       k.pad_bytes, k.pkey, k.dqpn, k.psn, k.syndrome, k.feth, k.msn, k.va,
			       k.rkey, k.dma_bytes, k.swap_add, k.compare, k.atomic_orig, k.qkey,
			       k.sqpn, k.imm, k.inv_rkey, k.srqn, k.hdr_bytes, k.payload_bytes,
			       k.npkts, k.op_flags);
}

#endif
