/* SPDX-License-Identifier: GPL-2.0 */
// SENDs, WRITEs and READs of random sizes, from both ends at once, every byte verified.
#ifndef TERN_VM_TRAFFIC_H
#define TERN_VM_TRAFFIC_H

#include <cstdint>
#include <random>

#include "endpoint.h"
#include "objects.h"

namespace vt {

struct Remotes {
	Remote source, sink;
};

struct Counts {
	uint64_t sends, writes, reads, bytes;
};

/*
 * Goes by rounds: each end posts its operations, verifies what the peer says, and
 * says "done" when all its own are complete. So one end is a round ahead at most,
 * and no receive is ever missing: there are those of two rounds.
 */
class Traffic {
public:
	Traffic(Endpoint &endpoint, bool client, uint64_t seed, uint32_t max_bytes, bool any_read);

	const Remotes &ours() const { return ours_; }
	void begin(const Remotes &theirs);

	void round();
	// Starts a round's operations. The ender returns when the peer's have started.
	void leave_unfinished(bool ender);
	// After the end: every work request completes or is flushed; or some do neither
	// (lossy).
	void drain(bool lossy);

	const Counts &counts() const { return counts_; }

private:
	struct Note;
	void post_receive(uint32_t slot);
	void post_operation(uint32_t index);
	void post_send(uint32_t index, uint32_t bytes);
	void post_write(uint32_t index, uint32_t bytes);
	void post_read(uint32_t index, uint32_t bytes);
	void post_note(uint32_t index, const Note &note, uint32_t bytes);
	void post(ibv_send_wr *wr);
	void received(const ibv_wc &wc);
	void read_done(uint32_t index);
	ibv_wc next();
	uint32_t random_bytes(uint32_t most);

	Endpoint &endpoint_;
	bool client_;
	uint64_t seed_;
	uint32_t max_bytes_;
	bool any_read_;
	std::mt19937_64 random_;
	Arena source_;	  // what the peer READs
	Arena sink_;	  // what the peer WRITEs to: a slot for each operation of two rounds
	Arena outgoing_;  // what we WRITE and SEND, in slots
	Arena read_into_; // alike
	Arena inbox_;
	Remotes ours_ = {}, theirs_ = {};
	struct Read {
		uint32_t bytes, from;
	};
	Read reads_[32] = {};
	uint32_t round_ = 0;
	uint32_t outstanding_sends_ = 0, outstanding_receives_ = 0;
	uint32_t peer_rounds_ = 0; // done
	uint32_t peer_round_ = 0;  // of its latest note
	bool may_be_over_ = false;
	Counts counts_ = {};
};

} // namespace vt

#endif
