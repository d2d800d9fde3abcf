// SPDX-License-Identifier: GPL-2.0
// Every opcode of RC, UC and UD over a list of sizes around the path MTU, plain and with
// each feature of work requests: gather/scatter, inline, unsignalled, fence, the ibv_wr_*
// API with extended CQs, both directions at once, deep queues.
#include <algorithm>

#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

struct Transport {
	const char *name;
	ibv_qp_type type;
	uint32_t largest; // 0: the path MTU
	std::vector<ibv_wr_opcode> opcodes;
};

const std::vector<Transport> kTransports = {
	{"rc",
	 IBV_QPT_RC,
	 1 << 20,
	 {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	  IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	  kWrAtomicWrite}},
	{"uc",
	 IBV_QPT_UC,
	 65536,
	 {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM}},
	{"ud", IBV_QPT_UD, 0, {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM}},
};

std::vector<uint32_t> sizes_for(const Transport &transport, uint32_t mtu, uint32_t largest)
{
	std::vector<uint32_t> sizes = {0,	1,	 2,	      3,     4,	      5,
				       7,	8,	 63,	      64,    mtu - 1, mtu,
				       mtu + 1, 2 * mtu, 2 * mtu + 3, 65536, 1 << 20};
	uint32_t limit = transport.largest ? transport.largest : mtu;
	limit = std::min(limit, largest);
	std::erase_if(sizes, [limit](uint32_t size) { return size > limit; });
	return sizes;
}

// Enough to see each kind of packet: none, one, first and last, middles.
std::vector<uint32_t> few_sizes(const Transport &transport, uint32_t mtu, uint32_t largest)
{
	std::vector<uint32_t> sizes = {0, 1, mtu, mtu + 1, 3 * mtu + 2, 16384};
	uint32_t limit = transport.largest ? transport.largest : mtu;
	limit = std::min(limit, largest);
	std::erase_if(sizes, [limit](uint32_t size) { return size > limit; });
	return sizes;
}

uint32_t count_for(uint32_t bytes)
{
	return bytes > 65536 ? 2 : bytes > 8192 ? 4 : 8;
}

struct Variant {
	const char *suffix;
	void (*tune)(Env &, LinkOptions *, CqOptions *, Batch *);
	uint32_t largest = 1 << 20;
};

void plain(Env &, LinkOptions *, CqOptions *, Batch *) {}

void many_sges(Env &env, LinkOptions *link, CqOptions *, Batch *batch)
{
	link->sges = std::min(30, env.device.attr().max_sge);
	// Both sides have to support them. UD receives need one more for the GRH.
	link->sges = std::min(link->sges, env.control.exchange(link->sges));
	batch->sges = batch->recv_sges = link->sges - 1;
}

void inlined(Env &, LinkOptions *link, CqOptions *, Batch *batch)
{
	link->inline_bytes = 64;
	batch->inlined = true;
}

void unsignalled(Env &, LinkOptions *, CqOptions *, Batch *batch)
{
	batch->signal_every = 16;
	batch->count = 40;
}

void fenced(Env &, LinkOptions *, CqOptions *, Batch *batch)
{
	batch->fence = true;
}

void modern(Env &, LinkOptions *link, CqOptions *cq, Batch *)
{
	link->modern = true;
	cq->extended = true;
}

void both_ways(Env &, LinkOptions *, CqOptions *, Batch *batch)
{
	batch->both_ways = true;
}

void from_server(Env &, LinkOptions *, CqOptions *, Batch *batch)
{
	batch->from_server = true;
}

void shallow(Env &, LinkOptions *link, CqOptions *, Batch *batch)
{
	link->send_wr = link->recv_wr = 2;
	batch->count = 10;
}

void deep(Env &, LinkOptions *link, CqOptions *cq, Batch *batch)
{
	link->send_wr = link->recv_wr = 1000;
	cq->entries = 4096;
	batch->count = 600;
	batch->signal_every = 100;
}

const Variant kVariants[] = {
	{"", plain},
	{"/sges", many_sges, 65536},
	{"/inline", inlined, 64},
	{"/unsignalled", unsignalled, 4096},
	{"/fence", fenced, 65536},
	{"/modern", modern, 65536},
	{"/both-ways", both_ways, 16384},
	{"/from-server", from_server, 65536},
	{"/shallow", shallow, 4096},
	{"/deep", deep, 64},
};

bool applies(const Transport &transport, const Variant &variant, ibv_wr_opcode opcode)
{
	// Nothing holds back an unreliable sender: with so few receives messages are lost.
	if (variant.tune == shallow && transport.type != IBV_QPT_RC)
		return false;
	bool no_payload = opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			  opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	bool atomic = no_payload && opcode != IBV_WR_RDMA_READ;
	// It is always inline, and always of one piece.
	if (opcode == kWrAtomicWrite)
		return variant.tune != many_sges && variant.tune != inlined &&
		       variant.tune != modern;
	if (variant.tune == inlined)
		return !no_payload;
	return variant.tune != many_sges || !atomic;
}

void need_atomic_write(Env &env)
{
	if (env.device.is_iwarp())
		skip("there is no such message in iWARP");
	env.both_need(placement_ops(env.device) & kWithAtomicWrite, "ATOMIC WRITE");
}

void run(Env &env, const Transport &transport, ibv_wr_opcode opcode, const Variant &variant)
{
	LinkOptions link;
	CqOptions cq;
	Batch batch;
	if (opcode == IBV_WR_SEND_WITH_IMM && env.device.send_with_imm() != opcode)
		skip("there is no such message in iWARP");
	link.type = transport.type;
	batch.opcode = opcode;
	batch.count = 0;
	if (opcode == kWrAtomicWrite) {
		need_atomic_write(env);
		link.modern = link.placement = true;
		batch.odd_offsets = false;
	}
	variant.tune(env, &link, &cq, &batch);
	uint32_t fixed_count = batch.count;
	size_t arena = 5 << 20;
	Bench bench(env, link, arena, cq);
	uint32_t mtu = bench.link.mtu();
	std::vector<uint32_t> sizes = variant.tune == plain ?
					      sizes_for(transport, mtu, variant.largest) :
					      few_sizes(transport, mtu, variant.largest);
	if (variant.tune == inlined)
		sizes = {0, 1, 4, 7, 32, 63, 64};
	bool eight = batch.is_atomic() || opcode == kWrAtomicWrite;
	if (eight)
		sizes = {8};
	if (variant.tune == deep)
		sizes.assign(1, eight ? 8 : 64);
	for (uint32_t bytes : sizes) {
		batch.bytes = bytes;
		batch.count = fixed_count ? fixed_count : count_for(bytes);
		batch.seed++;
		bench.run(batch);
	}
}

Register cases([](Cases &list) {
	for (const Variant &variant : kVariants)
		for (const Transport &transport : kTransports)
			for (ibv_wr_opcode opcode : transport.opcodes) {
				if (!applies(transport, variant, opcode))
					continue;
				std::string name = std::string(transport.name) + "/" +
						   opcode_name(opcode) + variant.suffix;
				list.push_back({name, [&transport, opcode, &variant](Env &env) {
							run(env, transport, opcode, variant);
						}});
			}
});

} // namespace
} // namespace vt
