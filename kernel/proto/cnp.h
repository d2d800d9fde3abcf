/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a receiver tells a sender of marks (IBTA annex A17.9): with a CNP at once, and no other for
 * CNP_INTERVAL_NS, per flow. The receiver of READ responses tells nobody: it is the requester who
 * decides how many are under way.
 */
#ifndef TERN_PROTO_CNP_H
#define TERN_PROTO_CNP_H

#include "pkt.h"
#include "tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cnp {
	u64 last_ns;		/* 0: none yet */
};

/*
 * A packet with CE has come: a CNP is sent now. Or a CNP has come: it counts. False: not so soon
 * after the last one. now_ns: exact, and not 0.
 */
static inline bool cnp_is_due(struct cnp *c, u64 now_ns)
{
	if (c->last_ns && now_ns - c->last_ns < CNP_INTERVAL_NS)
		return false;
	c->last_ns = now_ns;
	return true;
}

/* The headers of one; *k is zeroed. */
static inline void cnp_fill(struct pkt *k, u32 dqpn, u16 pkey)
{
	k->opcode = BTH_CNP_OPCODE;
	k->migrated = true;
	k->becn = true;
	k->pkey = pkey;
	k->dqpn = dqpn;
	k->npkts = 1;
	k->op_flags = opcode_info(BTH_CNP_OPCODE)->flags;
}

#ifdef __cplusplus
}
#endif

#endif
