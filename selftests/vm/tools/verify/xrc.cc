// SPDX-License-Identifier: GPL-2.0
// XRC: every opcode with its data, several SRQs behind one target, and requests that the target
// must refuse. xrc_life.cc has the lifetimes.
#include <cerrno>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "pattern.h"
#include "xrc_bench.h"

namespace vt {
namespace {

const ibv_wr_opcode kOpcodes[] = {
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
};

// Errors should come soon.
LinkOptions impatient()
{
	LinkOptions options;
	options.timeout = 12;
	options.retries = 5;
	return options;
}

void opcode(Env &env, ibv_wr_opcode opcode, bool modern)
{
	LinkOptions options;
	CqOptions cq;
	Batch batch;
	options.modern = cq.extended = modern;
	XrcBench b(env, options, cq);
	uint32_t mtu = b.link.mtu();
	std::vector<uint32_t> sizes = {0,	1,	     63,    mtu - 1, mtu,
				       mtu + 1, 3 * mtu + 2, 65536, 1 << 20};
	batch.opcode = opcode;
	batch.srqn = b.number;
	if (batch.is_atomic())
		sizes = {8};
	for (uint32_t bytes : sizes) {
		batch.bytes = bytes;
		batch.count = bytes > 65536 ? 2 : 8;
		batch.seed++;
		run_batch({env, {&b.link}, b.cq, b.cq, b.arena}, batch);
	}
}

// Inline data, several SGEs, many requests with few completions.
void shapes(Env &env)
{
	LinkOptions options;
	options.sges = 8;
	options.inline_bytes = 64;
	XrcBench b(env, options);
	Batch batch;
	batch.srqn = b.number;
	batch.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	batch.sges = 7;
	batch.bytes = 20000;
	run_batch({env, {&b.link}, b.cq, b.cq, b.arena}, batch);
	batch.opcode = IBV_WR_SEND_WITH_IMM;
	batch.sges = 1;
	batch.inlined = true;
	batch.bytes = 50;
	batch.seed++;
	run_batch({env, {&b.link}, b.cq, b.cq, b.arena}, batch);
	batch.inlined = false;
	batch.count = 300;
	batch.signal_every = 32;
	batch.seed++;
	run_batch({env, {&b.link}, b.cq, b.cq, b.arena}, batch);
}

// Memory on demand, also that of the SRQ's receives. Its pages are taken away again and again, but
// not faster than a slow machine can bring them back: then a READ gets nowhere, and its retries
// end.
void on_demand(Env &env)
{
	ibv_device_attr_ex attr{};
	require(!ibv_query_device_ex(env.device.context(), nullptr, &attr),
		"ibv_query_device_ex: %m");
	constexpr uint32_t kCaps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE |
				   IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
				   IBV_ODP_SUPPORT_SRQ_RECV;
	env.both_need((attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
			      (attr.xrc_odp_caps & kCaps) == kCaps,
		      "on-demand paging of XRC");
	XrcBench b(env, {}, {}, -1, MrKind::kOnDemand);
	std::jthread thief([&](const std::stop_token &stop) {
		while (!stop.stop_requested()) {
			madvise(b.arena.at(0), b.arena.size(), MADV_DONTNEED);
			usleep(5000);
		}
	});
	Batch batch;
	batch.srqn = b.number;
	for (int round = 0; round < 5; round++) {
		for (ibv_wr_opcode opcode : kOpcodes) {
			batch.opcode = opcode;
			for (uint32_t bytes : {8u, 5000u, 300000u}) {
				batch.bytes = batch.is_atomic() ? 8 : bytes;
				batch.seed++;
				run_batch({env, {&b.link}, b.cq, b.cq, b.arena}, batch);
				if (batch.is_atomic())
					break;
			}
		}
	}
}

// A SEND invalidates a window of the SRQ's PD. One that a QP has bound belongs to that QP, which
// a target is never.
void send_with_invalidate(Env &env)
{
	XrcBench b(env);
	LinkOptions rc;
	Link owner(env.device, b.pd.get(), b.cq.get(), b.cq.get(), rc);
	owner.connect(env.control);
	Arena region(b.pd.get(), 4096, kAllAccess | IBV_ACCESS_MW_BIND);
	Mw window(ibv_alloc_mw(b.pd.get(), IBV_MW_TYPE_2));
	require(window != nullptr, "ibv_alloc_mw: %m");
	uint32_t free_key = b.of_server(window->rkey);
	for (uint64_t i = 0; !env.client && i < 2; i++)
		require(!try_post_srq(b.srq.get(), i, {b.arena.sge(4096 * i, 64)}), "a receive");
	env.control.sync();
	Work send{.opcode = IBV_WR_SEND_WITH_INV,
		  .id = 1,
		  .sges = {b.arena.sge(0, 64)},
		  .key = free_key,
		  .srqn = b.number};
	if (env.client) {
		post(b.link, send);
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	} else {
		Completion c = b.cq.expect(IBV_WC_SUCCESS, 0, env.limit_s);
		require((c.flags & IBV_WC_WITH_INV) && c.inv_rkey == free_key, "flags %#x, key %#x",
			c.flags, c.inv_rkey);
	}
	env.control.sync();
	Work bind{.opcode = IBV_WR_BIND_MW, .id = 7, .mw = window.get()};
	bind.new_rkey = ibv_inc_rkey(window->rkey);
	bind.bind = {region.mr(), region.va(0), 4096, IBV_ACCESS_REMOTE_WRITE};
	post(owner, bind);
	b.cq.expect(IBV_WC_SUCCESS, 7, env.limit_s);
	send.key = b.of_server(bind.new_rkey);
	if (env.client) {
		post(b.link, send);
		b.cq.expect(IBV_WC_REM_ACCESS_ERR, 1, env.limit_s);
	} else {
		b.cq.expect(IBV_WC_LOC_PROT_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

// Messages for two SRQs in turn, each with its own PD, CQ and memory.
void two_srqs(Env &env)
{
	constexpr uint32_t kMessages = 400;
	XrcBench b(env);
	std::optional<Receiver> one, two;
	if (!env.client) {
		one.emplace(env.device, b.domain.get());
		two.emplace(env.device, b.domain.get());
		one->post(200);
		two->post(200);
	}
	uint32_t numbers[2] = {b.of_server(one ? one->number : 0),
			       b.of_server(two ? two->number : 0)};
	// Also across packets: every third message is longer than the MTU.
	auto bytes = [](uint32_t i) { return i % 3 ? 64 + i : 5000 + i; };
	for (uint32_t i = 0; env.client && i < kMessages; i++) {
		if (i >= 32)
			b.cq.expect(IBV_WC_SUCCESS, i - 32, env.limit_s);
		b.send(numbers[i % 2], i, bytes(i), mix(i));
	}
	for (uint32_t i = kMessages - 32; env.client && i < kMessages; i++)
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	for (uint32_t i = 0; !env.client && i < kMessages; i++) {
		Completion c = (i % 2 ? two : one)->expect(mix(i), bytes(i), env.limit_s);
		require(c.qp_num == b.link.qp()->qp_num && c.src_qp == b.link.peer().qpn,
			"from QP %u to %u", c.src_qp, c.qp_num);
	}
	env.control.sync();
}

// The SRQ that a request names decides whose memory its key may be of.
void key_of_srqs_pd(Env &env)
{
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
				     IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		XrcBench b(env, impatient());
		std::optional<Receiver> other;
		if (!env.client)
			other.emplace(env.device, b.domain.get());
		uint32_t theirs = b.of_server(other ? other->number : 0);
		Remote there = b.of_server(other ? other->arena.remote() : Remote{});
		Work w{.opcode = opcode,
		       .id = 1,
		       .sges = {b.arena.sge(0, 8)},
		       .remote_va = there.va,
		       .rkey = there.rkey,
		       .srqn = theirs};
		if (env.client) {
			post(b.link, w);
			b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
			w.srqn = b.number;
			post(b.link, w);
			b.cq.expect(IBV_WC_REM_ACCESS_ERR, 1, env.limit_s);
		} else {
			expect_qp_event(env, b.link.qp(), IBV_EVENT_QP_ACCESS_ERR);
		}
		env.control.sync();
	}
}

// Each kind of request for an SRQ that the target's domain does not have.
void refused(Env &env, uint32_t (*wrong_number)(XrcBench *))
{
	for (ibv_wr_opcode opcode : kOpcodes) {
		XrcBench b(env, impatient());
		if (!env.client)
			require(!try_post_srq(b.srq.get(), 5, {b.arena.sge(0, 64)}), "a receive");
		Remote there = b.of_server(b.arena.remote());
		uint32_t number = b.of_server(env.client ? 0 : wrong_number(&b));
		if (env.client) {
			post(b.link, {.opcode = opcode,
				      .id = 1,
				      .sges = {b.arena.sge(0, 8)},
				      .remote_va = there.va,
				      .rkey = there.rkey,
				      .srqn = number});
			b.cq.expect(IBV_WC_REM_ACCESS_ERR, 1, env.limit_s);
		} else {
			expect_qp_event(env, b.link.qp(), IBV_EVENT_QP_ACCESS_ERR);
			require(b.link.state() == IBV_QPS_ERR, "the target is not in ERR");
			b.cq.expect_none(0.05);
		}
		env.control.sync();
	}
}

uint32_t unknown(XrcBench *b)
{
	return (b->number + 0x1000) & 0xffffff;
}

uint32_t zero(XrcBench *)
{
	return 0;
}

uint32_t destroyed(XrcBench *b)
{
	return number_of(make_xrc_srq(b->pd.get(), b->domain.get(), b->cq.get()).get());
}

void other_domain(Env &env)
{
	XrcBench b(env, impatient());
	Xrcd domain;
	std::optional<Receiver> foreign;
	if (!env.client) {
		domain = open_domain(env.device.context());
		foreign.emplace(env.device, domain.get());
		foreign->post(1);
	}
	uint32_t number = b.of_server(foreign ? foreign->number : 0);
	if (env.client) {
		b.send(number, 1);
		b.cq.expect(IBV_WC_REM_ACCESS_ERR, 1, env.limit_s);
	} else {
		expect_qp_event(env, b.link.qp(), IBV_EVENT_QP_ACCESS_ERR);
		foreign->cq.expect_none(0.05);
	}
	env.control.sync();
}

// An SRQ that is not XRC's has a number too, but no target finds it.
void basic_srq(Env &env)
{
	XrcBench b(env, impatient());
	ibv_srq_init_attr attr = {nullptr, {4, 1, 0}};
	Srq basic(ibv_create_srq(b.pd.get(), &attr));
	require(basic != nullptr, "ibv_create_srq: %m");
	uint32_t number = b.of_server(number_of(basic.get()));
	if (env.client) {
		b.send(number, 1);
		b.cq.expect(IBV_WC_REM_ACCESS_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

void no_receive(Env &env)
{
	LinkOptions options = impatient();
	options.rnr_retries = 2;
	options.min_rnr_timer = 1;
	XrcBench b(env, options);
	if (env.client) {
		b.send(b.number, 1);
		b.cq.expect(IBV_WC_RNR_RETRY_EXC_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

// A message for an empty SRQ holds back those behind it, whatever their SRQ, until it has a
// receive.
void late_receive(Env &env)
{
	XrcBench b(env);
	std::optional<Receiver> other;
	if (!env.client) {
		other.emplace(env.device, b.domain.get());
		other->post(1);
	}
	uint32_t number = b.of_server(other ? other->number : 0);
	if (env.client) {
		b.send(b.number, 1);
		b.send(number, 2);
		b.cq.expect_none(0.3);
		env.control.sync();
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		b.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
	} else {
		env.control.sync();
		other->cq.expect_none(0.05);
		require(!try_post_srq(b.srq.get(), 3, {b.arena.sge(0, 64)}), "a receive");
		b.cq.expect(IBV_WC_SUCCESS, 3, env.limit_s);
		other->expect(2, 64, env.limit_s);
	}
	env.control.sync();
}

// A receive that is too short ends the target, and nothing else: the other SRQ keeps its receives.
void short_receive(Env &env)
{
	for (uint32_t bytes : {200u, 9000u}) {
		XrcBench b(env, impatient());
		std::optional<Receiver> other;
		if (!env.client) {
			other.emplace(env.device, b.domain.get());
			other->post(1);
			require(!try_post_srq(b.srq.get(), 3, {b.arena.sge(0, bytes - 1)}),
				"a receive");
		}
		env.control.sync();
		if (env.client) {
			post(b.link, {.id = 1, .sges = {b.arena.sge(0, bytes)}, .srqn = b.number});
			b.cq.expect(IBV_WC_REM_INV_REQ_ERR, 1, env.limit_s);
		} else {
			b.cq.expect(IBV_WC_LOC_LEN_ERR, 3, env.limit_s);
			other->cq.expect_none(0.05);
		}
		env.control.sync();
	}
}

void limit_event(Env &env)
{
	XrcBench b(env);
	for (uint64_t i = 0; !env.client && i < 20; i++)
		require(!try_post_srq(b.srq.get(), i, {b.arena.sge(0, 64)}), "a receive");
	if (!env.client) {
		ibv_srq_attr attr = {};
		attr.srq_limit = 10;
		require(!ibv_modify_srq(b.srq.get(), &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
	}
	env.control.sync();
	for (uint64_t i = 0; i < 15; i++) {
		if (env.client)
			b.send(b.number, i);
		b.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	}
	if (!env.client) {
		ibv_async_event event;
		ibv_srq *srq = nullptr;
		do {
			require(!ibv_get_async_event(env.device.context(), &event), "no event");
			srq = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED ? event.element.srq :
										nullptr;
			ibv_ack_async_event(&event);
		} while (!srq);
		require(srq == b.srq.get(), "a limit event of another SRQ");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	for (ibv_wr_opcode op : kOpcodes) {
		std::string name = std::string("xrc/") + opcode_name(op);
		list.push_back({name, [op](Env &env) { opcode(env, op, false); }});
		list.push_back({name + "-modern", [op](Env &env) { opcode(env, op, true); }});
	}
	list.push_back({"xrc/shapes", shapes});
	list.push_back({"xrc/on-demand", on_demand});
	list.push_back({"xrc/send-invalidate", send_with_invalidate});
	list.push_back({"xrc/two-srqs", two_srqs});
	list.push_back({"xrc/key-of-srqs-pd", key_of_srqs_pd});
	list.push_back({"xrc/unknown-srq", [](Env &env) { refused(env, unknown); }});
	list.push_back({"xrc/srq-0", [](Env &env) { refused(env, zero); }});
	list.push_back({"xrc/destroyed-srq", [](Env &env) { refused(env, destroyed); }});
	list.push_back({"xrc/other-domain", other_domain});
	list.push_back({"xrc/basic-srq", basic_srq});
	list.push_back({"xrc/no-receive", no_receive});
	list.push_back({"xrc/late-receive", late_receive});
	list.push_back({"xrc/short-receive", short_receive});
	list.push_back({"xrc/limit-event", limit_event});
});

} // namespace
} // namespace vt
