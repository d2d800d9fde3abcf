// SPDX-License-Identifier: GPL-2.0
// A message that arrives before its receive is posted is kept at the responder.
#include <unistd.h>

#include "bench.h"
#include "counter.h"
#include "post.h"

namespace vt {
namespace {

constexpr uint32_t kMessages = 40;

// The server's receive queue: the QP's own, or shared.
struct Receives {
	Receives(Env &env, bool shared)
		: pd(make_pd(env.device.context())), cq(env.device, {}), arena(pd.get(), 4096)
	{
		// rdma_cm's value: after an RNR NAK the requester waits for 655 ms.
		LinkOptions options;
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
			while (counter(device, "out_of_buffer") == missed)
				usleep(100);
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

const Register cases([](Cases &list) {
	list.push_back(
		{"remote/wait-recv-send", [](Env &env) { called(env, IBV_WR_SEND, false); }});
	list.push_back({"remote/wait-recv-imm",
			[](Env &env) { called(env, IBV_WR_RDMA_WRITE_WITH_IMM, false); }});
	list.push_back({"remote/wait-recv-srq", [](Env &env) { called(env, IBV_WR_SEND, true); }});
});

} // namespace
} // namespace vt
