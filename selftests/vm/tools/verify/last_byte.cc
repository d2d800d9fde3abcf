// SPDX-License-Identifier: GPL-2.0
// Programs that poll for a message in memory, not for its completion: who sees the last byte
// finds all the others. Where all data is in order, the same holds for any other byte.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <sched.h>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr uint64_t kHalf = 1 << 20; // of the arena: the source, and the place of arrival
constexpr std::array<uint32_t, 16> kSizes = {1,	  2,	7,    8,    12,	  64,	 65,	128,
					     129, 1000, 1024, 4096, 4100, 16384, 65536, 300001};

struct Message {
	ibv_wr_opcode opcode;
	uint32_t bytes;
	uint32_t polled;   // this many: the last of them is waited for
	uint64_t from, to; // in the arena of either end
	uint64_t key;
	char mark; // the byte that is waited for
};

void fill(char *at, const Message &m)
{
	pattern_fill(at, m.bytes, m.key);
	at[m.polled - 1] = m.mark;
}

// Waits for the mark, without a system call as long as it comes soon. Then the bytes before it are
// there, too. What comes last if the order is wrong is looked at first, and at once.
void poll_for(char *at, const Message &m, double limit_s)
{
	constexpr uint32_t kAtATime = 256;
	std::atomic_ref<char> mark(at[m.polled - 1]);
	std::array<char, 64> near = {};
	const uint32_t before = m.polled - 1, n_near = std::min<uint32_t>(before, near.size());
	double deadline = now_s() + limit_s;
	for (unsigned spins = 1; mark.load(std::memory_order_acquire) != m.mark; spins++) {
		if (spins % 4096)
			continue;
		sched_yield();
		require(now_s() < deadline, "%s of %u bytes: byte %u did not come",
			opcode_name(m.opcode), m.bytes, before);
	}
	memcpy(near.data(), at + before - n_near, n_near);
	size_t same = pattern_check(near.data(), n_near, m.key, before - n_near);
	require(same == n_near, "%s of %u bytes to %lu: byte %zu came behind byte %u",
		opcode_name(m.opcode), m.bytes, m.to, before - n_near + same, before);
	for (uint32_t end = before; end;) {
		uint32_t n = std::min(end, kAtATime);
		end -= n;
		same = pattern_check(at + end, n, m.key, end);
		require(same == n, "%s of %u bytes to %lu: byte %zu came behind byte %u",
			opcode_name(m.opcode), m.bytes, m.to, end + same, before);
	}
}

void post_message(Bench *b, const Remote &theirs, const Message &m)
{
	const bool read = m.opcode == IBV_WR_RDMA_READ;
	post(b->link, {.opcode = m.opcode,
		       .sges = {b->arena.sge(read ? m.to : m.from, m.bytes)},
		       .remote_va = theirs.va + (read ? m.from : m.to),
		       .rkey = theirs.rkey});
}

// WRITEs to and fro, each end waiting for the other's in memory alone.
void ping_pong(Bench *b, const Remote &theirs, Message m, uint32_t rounds)
{
	b->arena.at(m.to)[m.polled - 1] = 0;
	b->env.control.sync();
	for (uint32_t round = 0; round < rounds; round++) {
		m.key++;
		m.mark = static_cast<char>(1 + round % 100);
		if (b->env.client != (round % 2 == 0)) {
			poll_for(b->arena.at(m.to), m, b->env.limit_s);
			continue;
		}
		fill(b->arena.at(m.from), m);
		post_message(b, theirs, m);
		b->cq.expect(IBV_WC_SUCCESS, 0, b->env.limit_s);
	}
	b->env.control.sync();
}

// A READ or SEND by the client.
void once(Bench *b, const Remote &theirs, const Message &m)
{
	const bool arrives_here = b->env.client == (m.opcode == IBV_WR_RDMA_READ);
	if (arrives_here)
		memset(b->arena.at(m.to), 0, m.bytes);
	else
		fill(b->arena.at(m.from), m);
	if (!b->env.client && m.opcode == IBV_WR_SEND)
		post_recv(b->link, 0, {b->arena.sge(m.to, m.bytes)});
	b->env.control.sync();
	if (b->env.client)
		post_message(b, theirs, m);
	if (arrives_here)
		poll_for(b->arena.at(m.to), m, b->env.limit_s);
	if (b->env.client || m.opcode == IBV_WR_SEND)
		b->cq.expect(IBV_WC_SUCCESS, 0, b->env.limit_s);
	// Until then a READ may need what is here.
	b->env.control.sync();
}

// Of every size and at every alignment, by packets and by each way to copy.
void poll_messages(Env &env, bool any_byte)
{
	constexpr uint32_t kTimes = 8, kRounds = 25;
	Bench b(env, {}, 2 * kHalf);
	const Remote theirs = env.control.exchange(b.arena.remote());
	uint64_t number = 0;
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND})
		for (uint32_t bytes : kSizes)
			for (uint32_t time = 0; time < kTimes; time++) {
				number++;
				uint64_t key = pattern_key(env.seed, 0, number);
				auto some = static_cast<uint32_t>(1 + key % bytes);
				const Message m = {opcode,
						   bytes,
						   any_byte ? some : bytes,
						   number * 5 % 64,
						   kHalf + number * 11 % 64,
						   key,
						   1};
				if (opcode == IBV_WR_RDMA_WRITE)
					ping_pong(&b, theirs, m, kRounds);
				else
					once(&b, theirs, m);
			}
}

// What the device promises; what the administrator has asked for must be promised.
bool is_in_order(Env &env)
{
	Bench b(env, {}, 65536);
	bool promised = ibv_query_qp_data_in_order(b.link.qp(), IBV_WR_RDMA_WRITE, 0);
	std::ifstream parameter("/sys/module/tern/parameters/in_order");
	char asked = 'N';
	parameter >> asked;
	require(promised || asked == 'N', "data is not in order, but was to be");
	require(!ibv_query_qp_data_in_order(b.link.qp(), IBV_WR_BIND_MW, 0), "nor is a window");
	return promised;
}

void poll_any_byte(Env &env)
{
	uint32_t here = is_in_order(env);
	// Without the promise it is the last byte again: nothing else may be polled.
	bool promised = env.control.exchange(here) && here;
	poll_messages(env, promised);
}

Register cases([](Cases &list) {
	list.push_back({"rc/poll-last-byte", [](Env &env) { poll_messages(env, false); }});
	list.push_back({"rc/poll-any-byte", poll_any_byte});
});

} // namespace
} // namespace vt
