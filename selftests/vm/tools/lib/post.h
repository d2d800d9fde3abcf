/* SPDX-License-Identifier: GPL-2.0 */
// One work request as tests describe it, posted by the API that the link uses.
#ifndef TERN_VM_POST_H
#define TERN_VM_POST_H

#include <cstdint>
#include <vector>

#include <infiniband/verbs.h>

#include "link.h"
#include "placement.h"

namespace vt {

struct Work {
	ibv_wr_opcode opcode = IBV_WR_SEND;
	uint64_t id = 0;
	unsigned flags = IBV_SEND_SIGNALED;
	std::vector<ibv_sge> sges = {};
	uint32_t imm = 0; // host order; *_WITH_IMM
	uint32_t key = 0; // SEND_WITH_INV, LOCAL_INV
	uint64_t remote_va = 0;
	uint32_t rkey = 0;
	uint64_t compare_add = 0, swap = 0;
	uint32_t srqn = 0;    // XRC_SEND: the peer's
	ibv_mw *mw = nullptr; // BIND_MW
	uint32_t new_rkey = 0;
	ibv_mw_bind_info bind = {};
	FlushArgs flush = {}; // kWrFlush
};

// 0 or errno. UD links send to their peer.
int try_post(const Link &link, const Work &work);
void post(const Link &link, const Work &work);
// All in one call (classic) or one start/complete (modern).
int try_post_list(const Link &link, const std::vector<Work> &works);

int try_post_recv(const Link &link, uint64_t id, std::vector<ibv_sge> sges);
void post_recv(const Link &link, uint64_t id, const std::vector<ibv_sge> &sges);
int try_post_srq(ibv_srq *srq, uint64_t id, std::vector<ibv_sge> sges);

const char *opcode_name(ibv_wr_opcode opcode);
ibv_wc_opcode completion_of(ibv_wr_opcode opcode);

} // namespace vt

#endif
