// SPDX-License-Identifier: GPL-2.0
// Rate limits of QPs: what leaves in a second, never more than allowed. A busy machine may make it
// less, so that has several tries. A slow one has lower limits: a part of what leaves without any.
#include <algorithm>
#include <cstring>

#include "post.h"
#include "transfer.h"
#include "xrc_bench.h"

namespace vt {
namespace {

constexpr uint32_t kHeaders = 64; // that count for each packet
constexpr uint32_t kDepth = 128;
constexpr double kSeconds = 1, kShare = 0.9;
constexpr int kTries = 6;
constexpr uint32_t kPart = 16;		   // without a limit this many times the low one leaves
constexpr uint32_t kLeastBurst = 2 * 4160; // two packets of full size

void need_rates(Env &env, ibv_qp_type type)
{
	const ibv_packet_pacing_caps &caps = env.device.attr_ex().packet_pacing_caps;
	env.both_need(caps.qp_rate_limit_max && caps.supported_qpts & 1u << type, "rate limits");
}

void set_rate(const Link &link, uint32_t kbps, uint32_t burst)
{
	ibv_qp_rate_limit_attr attr = {};
	attr.rate_limit = kbps;
	attr.max_burst_sz = burst;
	int error = ibv_modify_qp_rate_limit(link.qp(), &attr);
	require(!error, "a rate of %u kbit/s: %s", kbps, strerror(error));
}

// Client: a sender of one message after the other.
struct Sender {
	Link &link;
	Cq &cq;
	Work work;
	uint64_t posted = 0, done = 0;
	uint32_t low_kbps = 0;

	Sender(Link &over, Cq &completions, const Work &each)
		: link(over), cq(completions), work(each)
	{
		// Long messages leave faster.
		low_kbps = work.sges[0].length > 4096 ? 20000 : 2000;
		low_kbps = std::min(low_kbps,
				    static_cast<uint32_t>(send_for_a_while().kbps() / kPart));
		require(low_kbps, "nothing leaves");
	}
	double message_bits() const
	{
		uint32_t bytes = work.sges[0].length, mtu = link.mtu();
		uint32_t packets = std::max((bytes + mtu - 1) / mtu, 1u);
		return 8.0 * (bytes + packets * kHeaders);
	}
	// 50 ms at the low rate; more than that is always posted.
	uint32_t burst() const { return std::max(low_kbps * 1000 / 8 / 20, kLeastBurst); }
	uint32_t depth() const { return std::clamp(2 * burst() / work.sges[0].length, 2u, kDepth); }
	void finish_one()
	{
		cq.expect(IBV_WC_SUCCESS, done);
		done++;
	}
	struct Sent {
		double bits, took_s;
		double kbps() const { return bits / took_s / 1000; }
	};
	Sent send_for_a_while()
	{
		uint64_t before = done;
		double began = now_s(), took;
		do {
			while (posted - done < depth()) {
				work.id = posted++;
				post(link, work);
			}
			finish_one();
			took = now_s() - began;
		} while (took < kSeconds);
		Sent sent{static_cast<double>(done - before) * message_bits(), took};
		while (done < posted)
			finish_one();
		return sent;
	}
	// kbit/s of a while, and never above the limit.
	double measure(double limit_kbps)
	{
		Sent sent = send_for_a_while();
		require(sent.bits <= limit_kbps * 1000 * sent.took_s + 8.0 * burst(),
			"%.0f kbit in %.3f s at %.0f kbit/s", sent.bits / 1000, sent.took_s,
			limit_kbps);
		return sent.kbps();
	}
};

void holds(Sender *sender, uint32_t kbps)
{
	double best = 0;
	set_rate(sender->link, kbps, sender->burst());
	for (int i = 0; i < kTries && best < kShare * kbps; i++)
		best = std::max(best, sender->measure(kbps));
	require(best >= kShare * kbps, "%.0f kbit/s at a limit of %u", best, kbps);
}

// What waits for a slow rate leaves when that is lifted.
void lift(Sender *sender)
{
	constexpr uint32_t kSlow = 10;
	set_rate(sender->link, kSlow, 1);
	for (uint32_t i = 0; i < sender->depth(); i++) {
		sender->work.id = sender->posted++;
		post(sender->link, sender->work);
	}
	double began = now_s();
	set_rate(sender->link, 0, 0);
	while (sender->done < sender->posted)
		sender->finish_one();
	double limited_s = (sender->depth() - 1) * sender->message_bits() / (kSlow * 1000.0);
	require(now_s() - began < limited_s / 2, "%.3f s, at the limit %.3f", now_s() - began,
		limited_s);
}

void hold_and_lift(Sender *sender)
{
	for (uint32_t times : {1, 4})
		holds(sender, times * sender->low_kbps);
	lift(sender);
}

void connected(Env &env, ibv_qp_type type, ibv_wr_opcode opcode, uint32_t bytes)
{
	need_rates(env, type);
	LinkOptions options;
	options.type = type;
	options.send_wr = kDepth;
	Bench b(env, options, 65536);
	Remote there = env.control.exchange(b.arena.remote());
	if (env.client) {
		Work work{.opcode = opcode, .sges = {b.arena.sge(0, bytes)}};
		work.remote_va = there.va;
		work.rkey = there.rkey;
		Sender sender(b.link, b.cq, work);
		hold_and_lift(&sender);
	}
	env.control.sync();
}

void xrc(Env &env)
{
	need_rates(env, IBV_QPT_XRC_SEND);
	LinkOptions options;
	options.send_wr = kDepth;
	XrcBench b(env, options);
	Remote there = b.of_server(b.arena.remote());
	if (env.client) {
		Work work{.opcode = IBV_WR_RDMA_WRITE, .sges = {b.arena.sge(0, 16384)}};
		work.remote_va = there.va;
		work.rkey = there.rkey;
		work.srqn = b.number;
		Sender sender(b.link, b.cq, work);
		holds(&sender, 2 * sender.low_kbps);
	}
	env.control.sync();
}

// One message of many bursts: all of it is paced, and arrives.
void long_message(Env &env)
{
	constexpr uint32_t kBytes = 2 << 20, kKbps = 40000, kBurst = 65536;
	need_rates(env, IBV_QPT_RC);
	Batch batch;
	batch.bytes = kBytes;
	batch.count = 1;
	batch.opcode = IBV_WR_RDMA_WRITE;
	Bench b(env, {}, arena_bytes_for(batch));
	if (env.client)
		set_rate(b.link, kKbps, kBurst);
	double began = now_s();
	b.run(batch);
	double least = 8.0 * (kBytes - kBurst) / (kKbps * 1000.0);
	require(now_s() - began >= least, "%.3f s, at least %.3f are right", now_s() - began,
		least);
}

// The default burst, and the ends of the range.
void any_rate(Env &env)
{
	need_rates(env, IBV_QPT_RC);
	uint32_t most = env.device.attr_ex().packet_pacing_caps.qp_rate_limit_max;
	Bench b(env, {}, 5 << 20);
	for (uint32_t kbps : {100000u, most})
		for (uint32_t burst : {0u, 1u, UINT32_MAX}) {
			if (env.client)
				set_rate(b.link, kbps, burst);
			for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_READ}) {
				Batch batch;
				batch.opcode = opcode;
				batch.bytes = 5000;
				b.run(batch);
			}
		}
}

Register cases([](Cases &list) {
	list.push_back({"rate/rc-write",
			[](Env &env) { connected(env, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 16384); }});
	list.push_back({"rate/rc-short",
			[](Env &env) { connected(env, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 1000); }});
	list.push_back({"rate/uc-write",
			[](Env &env) { connected(env, IBV_QPT_UC, IBV_WR_RDMA_WRITE, 16384); }});
	list.push_back(
		{"rate/ud-send", [](Env &env) { connected(env, IBV_QPT_UD, IBV_WR_SEND, 1000); }});
	list.push_back({"rate/xrc-write", xrc});
	list.push_back({"rate/long-message", long_message});
	list.push_back({"rate/any-rate", any_rate});
});

} // namespace
} // namespace vt
