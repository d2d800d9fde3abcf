// SPDX-License-Identifier: GPL-2.0
// A message that arrives before its receive is posted is kept at the responder.
#include <algorithm>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "bench.h"
#include "counter.h"
#include "post.h"

namespace vt {
namespace {

constexpr uint32_t kMessages = 40;

// Keeps this thread on one CPU, ahead of the kernel's work items there. Without the right to that
// they may come first.
class AheadOfWork {
public:
	explicit AheadOfWork(unsigned cpu)
	{
		cpu_set_t here;
		CPU_ZERO(&here);
		CPU_SET(cpu, &here);
		sched_getaffinity(0, sizeof(before_), &before_);
		sched_setaffinity(0, sizeof(here), &here);
		sched_param first = {.sched_priority = 1};
		sched_setscheduler(0, SCHED_FIFO, &first);
	}
	~AheadOfWork()
	{
		sched_param usual = {};
		sched_setscheduler(0, SCHED_OTHER, &usual);
		sched_setaffinity(0, sizeof(before_), &before_);
	}
	AheadOfWork(const AheadOfWork &) = delete;
	AheadOfWork &operator=(const AheadOfWork &) = delete;

private:
	cpu_set_t before_ = {};
};

// The server's receive queue: the QP's own, or shared.
struct Receives {
	Receives(Env &env, bool shared, const LinkOptions &of_link = {})
		: pd(make_pd(env.device.context())), cq(env.device, {}), arena(pd.get(), 4096)
	{
		LinkOptions options = of_link;
		// rdma_cm's value: after an RNR NAK the requester waits for 655 ms.
		options.min_rnr_timer = 0;
		if (shared) {
			ibv_srq_init_attr attr = {};
			attr.attr.max_wr = 4;
			attr.attr.max_sge = 1;
			srq.reset(ibv_create_srq(pd.get(), &attr));
			require(srq != nullptr, "ibv_create_srq: %m");
			options.srq = srq.get();
		}
		link.emplace(env.device, pd.get(), cq.get(), cq.get(), options);
		link->connect(env.control);
		there = env.control.exchange(arena.remote());
	}
	void post_one()
	{
		if (srq)
			require(!try_post_srq(srq.get(), 3, {arena.sge(0, 64)}), "no SRQ receive");
		else
			post_recv(*link, 3, {arena.sge(0, 64)});
	}
	Pd pd;
	Cq cq;
	Arena arena;
	Srq srq;
	std::optional<Link> link;
	Remote there;
};

// Each message finds no receive, which is posted once that was seen. On a busy machine that may
// take too long for most, but not for all.
void called(Env &env, ibv_wr_opcode opcode, bool shared)
{
	need_tern(env, "a message that waits for its receive");
	Receives r(env, shared);
	const ibv_device *device = env.device.context()->device;
	uint64_t naks = counter_now(device, "rnr_nak_rcvd");
	for (uint32_t i = 0; i < kMessages; i++) {
		uint64_t missed = counter(device, "out_of_buffer");
		env.control.sync();
		if (env.client) {
			Work w{.opcode = opcode, .id = 1, .sges = {r.arena.sge(0, 64)}};
			w.remote_va = r.there.va;
			w.rkey = r.there.rkey;
			post(*r.link, w);
			r.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		} else {
			for (uint32_t n = 0; counter(device, "out_of_buffer") == missed; n++) {
				require(n < env.limit_s * 1000, "no message came");
				usleep(1000);
			}
			r.post_one();
			r.cq.expect(IBV_WC_SUCCESS, 3, env.limit_s);
		}
		env.control.sync();
	}
	naks = counter_now(device, "rnr_nak_rcvd") - naks;
	if (env.client)
		require(naks < kMessages, "%u RNR NAKs for %u messages",
			static_cast<unsigned>(naks), kMessages);
	env.control.sync();
}

// Behind a message that is too long for its receive more packets wait than one run of the QP takes
// in. The program sees the error and destroys the QP before a work item goes on with it: the peer
// has been told by then. It is so close if the QP's timer fires on the program's CPU, which is
// another one in each try.
void destroyed_at_once(Env &env)
{
	constexpr uint32_t kBehind = 200; // ROCE_BUDGET_SOFTIRQ is 128
	constexpr uint32_t kTries = 20;
	const unsigned cpus = std::max(std::thread::hardware_concurrency(), 1u);

	need_tern(env, "a message that waits for its receive");
	const ibv_device *device = env.device.context()->device;
	LinkOptions options;
	options.send_wr = 1 + kBehind;
	options.retries = 2; // a peer that was not told knows soon
	for (uint32_t i = 0; i < kTries; i++) {
		// Posting to an SRQ does not ring: the QP's timer finds the receive.
		Receives r(env, true, options);
		uint64_t missed = counter_now(device, "out_of_buffer");
		env.control.sync();
		if (env.client) {
			std::vector<Work> works = {{.id = 1, .sges = {r.arena.sge(0, 65)}}};
			for (uint32_t id = 2; id < 2 + kBehind; id++)
				works.push_back({.opcode = IBV_WR_RDMA_WRITE,
						 .id = id,
						 .sges = {r.arena.sge(0, 64)},
						 .remote_va = r.there.va,
						 .rkey = r.there.rkey});
			require(!try_post_list(*r.link, works), "posting the list");
			r.cq.expect(IBV_WC_REM_INV_REQ_ERR, 1, env.limit_s);
		} else {
			for (uint32_t n = 0; counter(device, "out_of_buffer") == missed; n++) {
				require(n < env.limit_s * 1000, "no message came");
				usleep(1000);
			}
			AheadOfWork first(i % cpus);
			r.post_one();
			r.cq.expect(IBV_WC_LOC_LEN_ERR, 3, env.limit_s);
			r.link->destroy();
		}
		env.control.sync();
	}
}

const Register cases([](Cases &list) {
	list.push_back(
		{"remote/wait-recv-send", [](Env &env) { called(env, IBV_WR_SEND, false); }});
	list.push_back({"remote/wait-recv-imm",
			[](Env &env) { called(env, IBV_WR_RDMA_WRITE_WITH_IMM, false); }});
	list.push_back({"remote/wait-recv-srq", [](Env &env) { called(env, IBV_WR_SEND, true); }});
	list.push_back({"remote/wait-recv-destroyed", destroyed_at_once});
});

} // namespace
} // namespace vt
