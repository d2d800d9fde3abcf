// SPDX-License-Identifier: GPL-2.0
// vfair: the latency of short messages on one QP, alone and beside another QP that always has
// -N messages of 64 KiB in flight (in the same process, so that the scheduler has no influence).
// Each case takes -S seconds and prints percentiles of half a round trip.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "post.h"
#include "session.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr uint32_t kBulkBytes = 65536, kBulkAt = 4096, kPongAt = 64;
constexpr uint64_t kPingId = 1, kBulkId = 2;
constexpr uint16_t kOver = 0xffff;

// One side: its two QPs and what it does with them.
class Side {
public:
	Side(Env &env, uint32_t depth)
		: env_(env), bench_(env, {}, kBulkAt + kBulkBytes),
		  bulk_(env.device, bench_.pd.get(), bench_.cq.get(), bench_.cq.get(), {}),
		  depth_(depth)
	{
		bulk_.connect(env.control);
		memset(bench_.arena.at(0), 0, kBulkAt);
		peer_ = env.control.exchange(bench_.arena.remote());
	}

	void begin_bulk()
	{
		for (uint32_t i = 0; i < depth_; i++)
			post_bulk();
	}

	// The peer gets it at `at`, where this side gets the other direction's.
	void send(uint16_t number, uint32_t at)
	{
		memcpy(bench_.arena.at(2 * kPongAt), &number, sizeof(number));
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = kPingId};
		w.sges = {bench_.arena.sge(2 * kPongAt, sizeof(number))};
		w.remote_va = peer_.va + at;
		w.rkey = peer_.rkey;
		post(bench_.link, w);
		posted_++;
	}

	// Waits until the number at `at` is no longer `old`, and keeps the bulk traffic going.
	uint16_t wait_change(uint16_t old, uint32_t at)
	{
		double limit = now_s() + env_.limit_s;
		const volatile uint16_t *word =
			reinterpret_cast<const volatile uint16_t *>(bench_.arena.at(at));
		uint32_t turn = 0;
		do {
			reap(true);
			require(++turn % 1024 || now_s() < limit, "no answer in time");
		} while (*word == old);
		return *word;
	}

	// At most one completion. Over iWARP a WRITE completes at once while TCP has
	// room: there would always be another, and the loop would not look for the answer.
	void reap(bool go_on)
	{
		Completion c;
		if (!bench_.cq.poll(&c))
			return;
		require_success(c, c.wr_id == kBulkId ? "bulk" : "ping");
		done_++;
		if (c.wr_id != kBulkId)
			return;
		bulk_done_++;
		if (go_on)
			post_bulk();
	}

	void finish()
	{
		double limit = now_s() + env_.limit_s;
		while (done_ < posted_) {
			reap(false);
			require(now_s() < limit, "completions are missing");
		}
	}

	double bulk_mib() const { return bulk_done_ * (kBulkBytes / 1048576.0); }

private:
	void post_bulk()
	{
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = kBulkId};
		w.sges = {bench_.arena.sge(kBulkAt, kBulkBytes)};
		w.remote_va = peer_.va + kBulkAt;
		w.rkey = peer_.rkey;
		post(bulk_, w);
		posted_++;
	}

	Env &env_;
	Bench bench_;
	Link bulk_;
	uint32_t depth_;
	Remote peer_ = {};
	uint64_t posted_ = 0, done_ = 0, bulk_done_ = 0;
};

void print_percentiles(const char *name, std::vector<double> *us, double bulk_mib_s)
{
	require(us->size() >= 20, "only %zu round trips", us->size());
	std::sort(us->begin(), us->end());
	printf("# %s: round-trips %zu", name, us->size());
	for (double p : {50.0, 90.0, 99.0, 99.9}) {
		size_t rank = static_cast<size_t>(std::ceil(p / 100 * us->size()));
		printf(" p%g %.2f", p, (*us)[rank - 1]);
	}
	printf(" us, bulk %.2f MiB/s\n", bulk_mib_s);
}

void client(Env &env, Side &side, const char *name)
{
	std::vector<double> us;
	uint16_t number = 0;

	side.begin_bulk();
	double began = now_s(), end = began + env.seconds;
	for (double now = began; now < end;) {
		uint16_t next = number + 1 == kOver ? 1 : number + 1;
		side.send(next, 0);
		side.wait_change(number, kPongAt);
		number = next;
		double then = now_s();
		us.push_back((then - now) / 2 * 1e6);
		now = then;
	}
	double rate = side.bulk_mib() / (now_s() - began);
	side.send(kOver, 0);
	side.finish();
	print_percentiles(name, &us, rate);
}

void server(Side &side)
{
	for (uint16_t number = 0; (number = side.wait_change(number, 0)) != kOver;)
		side.send(number, kPongAt);
	side.finish();
}

void ping_pong(Env &env, uint32_t depth, const char *name)
{
	Side side(env, env.client ? depth : 0);

	env.control.sync();
	if (env.client)
		client(env, side, name);
	else
		server(side);
	env.control.sync();
}

const Register kCases([](Cases &cases) {
	cases.push_back({"alone", [](Env &env) { ping_pong(env, 0, "alone"); }});
	cases.push_back(
		{"beside-bulk", [](Env &env) { ping_pong(env, env.amount, "beside-bulk"); }});
});

} // namespace
} // namespace vt

int main(int argc, char **argv)
{
	return vt::session_main(argc, argv);
}
