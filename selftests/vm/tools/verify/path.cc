// SPDX-License-Identifier: GPL-2.0
// The path between two QPs: each path MTU, PSNs that wrap during a message, UD
// over another GID, and long messages.
#include <algorithm>

#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

const ibv_wr_opcode kRcOpcodes[] = {
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
};

void all_opcodes(Bench *bench, const std::vector<uint32_t> &sizes, uint32_t count)
{
	Batch batch;
	batch.both_ways = true;
	for (ibv_wr_opcode opcode : kRcOpcodes) {
		batch.opcode = opcode;
		for (uint32_t bytes : sizes) {
			batch.bytes = batch.is_atomic() ? 8 : bytes;
			batch.count = count;
			batch.seed++;
			bench->run(batch);
			if (batch.is_atomic())
				break;
		}
	}
}

void path_mtu(Env &env, ibv_mtu mtu)
{
	env.both_need(env.device.port().active_mtu >= mtu, "the netdev's MTU allows it");
	LinkOptions options;
	options.mtu = mtu;
	uint32_t bytes = mtu_bytes(mtu);
	Bench bench(env, options, 1 << 20);
	all_opcodes(&bench, {bytes - 1, bytes, bytes + 1, 5 * bytes + 3}, 4);
}

// The first PSN is so near the end that PSNs wrap inside the first messages; READs and
// atomics take PSNs for their responses.
void psn_wrap(Env &env)
{
	for (uint32_t before : {1u, 2u, 5u}) {
		LinkOptions options;
		options.psn = 0x1000000 - before;
		Bench bench(env, options, 1 << 20);
		Batch batch;
		batch.both_ways = true;
		for (ibv_wr_opcode opcode : kRcOpcodes) {
			options.psn = 0x1000000 - before;
			Bench fresh(env, options, 1 << 20);
			batch.opcode = opcode;
			batch.bytes = batch.is_atomic() ? 8 : 3 * fresh.link.mtu() + 1;
			batch.seed++;
			fresh.run(batch);
		}
		all_opcodes(&bench, {0, 2 * bench.link.mtu()}, 4);
	}
}

// A signed comparison of 24 bits is wrong from PSN 0x7fffff to 0x800000.
void psn_middle(Env &env)
{
	LinkOptions options;
	options.psn = 0x7ffffe;
	Bench bench(env, options, 1 << 20);
	all_opcodes(&bench, {4 * bench.link.mtu()}, 4);
}

void long_message(Env &env, ibv_wr_opcode opcode, uint32_t bytes)
{
	env.limit_s = std::max(env.limit_s, 60.0);
	Bench bench(env, {}, arena_bytes_for({.bytes = bytes, .count = 1}) + 4096);
	Batch batch;
	batch.opcode = opcode;
	batch.bytes = bytes;
	batch.count = 1;
	bench.run(batch);
}

Register cases([](Cases &list) {
	const std::pair<const char *, ibv_mtu> mtus[] = {{"256", IBV_MTU_256},
							 {"512", IBV_MTU_512},
							 {"1024", IBV_MTU_1024},
							 {"2048", IBV_MTU_2048},
							 {"4096", IBV_MTU_4096}};
	for (const auto &[name, mtu] : mtus)
		list.push_back({std::string("path/mtu-") + name,
				[mtu = mtu](Env &env) { path_mtu(env, mtu); }});
	list.push_back({"path/psn-wraps", psn_wrap});
	list.push_back({"path/psn-middle", psn_middle});
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		list.push_back({std::string("path/16MiB-") + opcode_name(opcode),
				[opcode](Env &env) { long_message(env, opcode, 16 << 20); }});
});

} // namespace
} // namespace vt
