/* SPDX-License-Identifier: GPL-2.0 */
// Moves a batch of messages over one or more links and verifies every byte: payloads that
// arrived, gaps between and around them that must be unchanged, lengths, immediates,
// opcodes and the order of completions. Both sides call run_batch() with the same batch.
#ifndef TERN_VM_TRANSFER_H
#define TERN_VM_TRANSFER_H

#include <cstdint>
#include <vector>

#include "cq.h"
#include "link.h"
#include "objects.h"
#include "session.h"

namespace vt {

struct Batch {
	ibv_wr_opcode opcode = IBV_WR_SEND;
	uint32_t bytes = 64;
	uint32_t count = 4; // messages of each direction, over all links
	uint32_t sges = 1;  // of the local side of each WR
	uint32_t recv_sges = 1;
	uint32_t recv_extra = 16; // receive buffers are this much longer than the message
	uint32_t signal_every = 1;
	bool inlined = false;
	bool fence = false;
	bool odd_offsets = true;  // messages begin at any address
	bool from_server = false; // direction: else from the client
	bool both_ways = false;
	uint64_t seed = 0; // mixed with the session's
	uint32_t srqn = 0; // XRC: the passive side's

	bool is_send() const { return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM; }
	bool has_imm() const
	{
		return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	}
	bool is_atomic() const
	{
		return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	}
	bool takes_receive() const { return is_send() || has_imm(); }
};

// The arena size that a batch needs.
size_t arena_bytes_for(const Batch &batch);

// The links share the CQs, and possibly an SRQ. Both sides need an arena.
struct Setup {
	Env &env;
	std::vector<Link *> links;
	Cq &send_cq;
	Cq &recv_cq;
	Arena &arena;
};

void run_batch(const Setup &setup, const Batch &batch);

// A posted WRITE ends with that status. With success its data has arrived.
// iWARP completes it when it is sent: a READ of 0 bytes behind it shows its result.
void expect_write(Env &env, const Link &link, Cq &cq, uint64_t id, ibv_wc_status status);

// One link with its CQs, PD and arena, which is all that many cases need.
struct Bench {
	Bench(Env &env, const LinkOptions &options, size_t arena_bytes,
	      const CqOptions &cq_options = {}, MrKind kind = MrKind::kPlain);
	void run(const Batch &batch);

	Env &env;
	Pd pd;
	Cq cq;
	Arena arena;
	Link link;
};

} // namespace vt

#endif
