// SPDX-License-Identifier: GPL-2.0
// Requests that fail before they reach the wire, verbs that must fail, and the
// order in which an error flushes requests.
#include <cerrno>
#include <cstring>
#include <string>

#include "bench.h"

namespace vt {
namespace {

void bad_local(Env &env, ibv_wr_opcode opcode, void (*spoil)(Work *))
{
	ErrorBench b(env);
	if (!env.client)
		post_recv(b.bench.link, 3, {b.bench.arena.sge(0, 4096)});
	env.control.sync();
	Work w = b.to_target(opcode);
	spoil(&w);
	b.fails(w, IBV_WC_LOC_PROT_ERR);
}

void sink_without_right(Env &env)
{
	ErrorBench b(env);
	Arena readonly(b.bench.pd.get(), 4096, 0);
	Work w = b.to_target(IBV_WR_RDMA_READ);
	w.sges = {readonly.sge(0, 64)};
	b.fails(w, IBV_WC_LOC_PROT_ERR);
}

void other_pd(Env &env)
{
	ErrorBench b(env);
	Pd pd = make_pd(env.device.context());
	Arena foreign(pd.get(), 4096);
	Work w = b.to_target(IBV_WR_SEND);
	w.sges = {foreign.sge(0, 64)};
	b.fails(w, IBV_WC_LOC_PROT_ERR);
}

// Requests before one that the peer refuses: they succeed. An RNIC's Terminate does not wait for
// answers that are due (RFC 5040 7.1): the requests that miss theirs are flushed, in order.
void expect_before_refused(Env &env, Cq &cq, uint64_t first, uint64_t refused)
{
	bool answered = true;
	for (uint64_t id = first; id < refused; id++) {
		Completion c = cq.next(env.limit_s);
		require(c.wr_id == id, "wr %llu completed where %llu was due",
			static_cast<unsigned long long>(c.wr_id),
			static_cast<unsigned long long>(id));
		answered = answered && c.status == IBV_WC_SUCCESS;
		require(answered || (env.device.is_iwarp() && c.status == IBV_WC_WR_FLUSH_ERR),
			"wr %llu, before the one that is refused, completed with '%s'",
			static_cast<unsigned long long>(id), ibv_wc_status_str(c.status));
	}
}

// One bad request among good ones: it fails, later ones are flushed in order, and so are receives
// and all requests posted afterwards.
void flush_order(Env &env)
{
	ErrorBench b(env);
	Cq &cq = b.bench.cq;
	const Link &link = b.bench.link;
	if (env.client) {
		std::vector<Work> works;
		for (uint64_t id = 10; id < 20; id++) {
			works.push_back(b.to_target(IBV_WR_RDMA_READ, id));
			if (id == 13)
				works.back().rkey ^= 0x5500;
			// Unsignalled requests also report errors.
			if (id > 13 && id % 2)
				works.back().flags = 0;
		}
		require(!try_post_list(link, works), "posting the list");
		expect_before_refused(env, cq, 10, 13);
		cq.expect(IBV_WC_REM_ACCESS_ERR, 13, env.limit_s);
		for (uint64_t id = 14; id < 20; id++)
			cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
		for (uint64_t id = 20; id < 23; id++) {
			int error = try_post(link, b.to_target(IBV_WR_RDMA_WRITE, id));
			require(!error, "posting in ERR: %s", strerror(error));
			cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
		}
		for (uint64_t id = 30; id < 33; id++) {
			post_recv(link, id, {b.bench.arena.sge(0, 64)});
			cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
		}
		cq.expect_none(0.2);
	}
	env.control.sync();
}

// A request with bad local memory, behind short WRITEs in the same list: one
// ACK may be for many of those, and still arrives. It does not depend on a timeout:
// there is no ACK timer.
void refused_behind_writes(Env &env, uint32_t before)
{
	constexpr uint32_t kBehind = 3, kBytes = 64;

	LinkOptions options = impatient();
	options.timeout = 0;
	ErrorBench b(env, options);
	if (env.client) {
		std::vector<Work> works;
		for (uint32_t i = 0; i < before + 1 + kBehind; i++) {
			works.push_back(b.to_target(IBV_WR_RDMA_WRITE, i, kBytes));
			works.back().remote_va += i * kBytes;
			works.back().sges = {b.bench.arena.sge(i * kBytes, kBytes)};
			memset(b.bench.arena.at(i * kBytes), static_cast<int>(i + 1), kBytes);
		}
		works[before].sges[0].lkey ^= 0x5500;
		require(!try_post_list(b.bench.link, works), "posting the list");
		for (uint32_t i = 0; i < works.size(); i++)
			b.bench.cq.expect(i < before  ? IBV_WC_SUCCESS :
					  i == before ? IBV_WC_LOC_PROT_ERR :
							IBV_WC_WR_FLUSH_ERR,
					  i, env.limit_s);
		require(b.bench.link.state() == IBV_QPS_ERR, "the QP is not in ERR");
	}
	env.control.sync();
	if (!env.client) {
		for (uint32_t i = 0; i < before * kBytes; i++)
			require(*b.target.at(i) == static_cast<char>(i / kBytes + 1),
				"byte %u of %u is not there", i, before * kBytes);
		size_t rest = kTargetBytes - before * kBytes;
		require(b.target.check_canary(before * kBytes, rest) == rest,
			"what failed or was flushed was written");
	}
	env.control.sync();
}

void flush_by_modify(Env &env)
{
	ErrorBench b(env);
	for (uint64_t id = 0; id < 20; id++)
		post_recv(b.bench.link, id, {b.bench.arena.sge(0, 64)});
	env.control.sync();
	b.bench.link.move_to(IBV_QPS_ERR);
	for (uint64_t id = 0; id < 20; id++)
		b.bench.cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
	b.bench.cq.expect_none(0.2);
	env.control.sync();
}

// RESET drops all requests without completions, and the QP can be used again.
void reset_drops(Env &env)
{
	ErrorBench b(env);
	for (uint64_t id = 0; id < 20; id++)
		post_recv(b.bench.link, id, {b.bench.arena.sge(0, 64)});
	env.control.sync();
	b.bench.link.move_to(IBV_QPS_RESET);
	b.bench.cq.expect_none(0.3);
	b.bench.link.connect(env.control);
	if (!env.client)
		post_recv(b.bench.link, 50, {b.bench.arena.sge(0, 64)});
	env.control.sync();
	if (env.client)
		post(b.bench.link, b.to_target(IBV_WR_SEND, 50));
	b.bench.cq.expect(IBV_WC_SUCCESS, 50, env.limit_s);
	env.control.sync();
}

// Errors that post_send and post_recv return at once.
void refused_posts(Env &env)
{
	LinkOptions options = impatient();
	options.send_wr = options.recv_wr = 4;
	options.sges = 2;
	ErrorBench b(env, options);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	require(!ibv_query_qp(b.bench.link.qp(), &attr, IBV_QP_CAP, &init), "query_qp");
	if (env.client) {
		Work many = b.to_target(IBV_WR_RDMA_WRITE);
		many.sges.assign(init.cap.max_send_sge + 1, b.bench.arena.sge(0, 1));
		require(try_post(b.bench.link, many), "too many SGEs were taken");
		Work inl = b.to_target(IBV_WR_RDMA_WRITE);
		inl.flags |= IBV_SEND_INLINE;
		inl.sges = {b.bench.arena.sge(0, init.cap.max_inline_data + 1)};
		require(try_post(b.bench.link, inl), "too much inline data was accepted");
		// The peer has no receive, so nothing completes and the send queue fills up.
		// (A driver that has copied a request may free its slot early.)
		uint32_t taken = 0;
		while (taken <= 4 * init.cap.max_send_wr &&
		       !try_post(b.bench.link, b.to_target(IBV_WR_SEND, taken)))
			taken++;
		require(taken >= 4 && taken <= 4 * init.cap.max_send_wr,
			"%u sends were taken, the queue has %u", taken, init.cap.max_send_wr);
		b.bench.link.move_to(IBV_QPS_ERR);
		for (uint32_t id = 0; id < taken; id++)
			b.bench.cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
	}
	env.control.sync();
	// Now the receive queue, on a QP without an error.
	Link fresh(env.device, b.bench.pd.get(), b.bench.cq.get(), b.bench.cq.get(), options);
	fresh.to_init();
	uint32_t taken = 0;
	std::vector<ibv_sge> sges(init.cap.max_recv_sge + 1, b.bench.arena.sge(0, 1));
	require(try_post_recv(fresh, 0, sges), "too many receive SGEs were taken");
	while (taken <= init.cap.max_recv_wr + 1024 &&
	       !try_post_recv(fresh, taken, {b.bench.arena.sge(0, 64)}))
		taken++;
	require(taken >= 4 && taken <= init.cap.max_recv_wr,
		"%u receives were taken, the queue has %u", taken, init.cap.max_recv_wr);
	env.control.sync();
}

// Arguments with which creating verbs must fail.
void refused_creates(Env &env)
{
	const ibv_device_attr &dev = env.device.attr();
	ibv_context *context = env.device.context();
	Pd pd = make_pd(context);
	Cq cq(env.device, {});
	require(!ibv_create_cq(context, dev.max_cqe + 1, nullptr, nullptr, 0), "a CQ too long");
	ibv_qp_init_attr attr = {};
	attr.send_cq = attr.recv_cq = cq.get();
	attr.qp_type = IBV_QPT_RC;
	attr.cap = {static_cast<uint32_t>(dev.max_qp_wr) + 1, 1, 1, 1, 0};
	require(!ibv_create_qp(pd.get(), &attr), "a send queue too long");
	attr.cap = {1, 1, static_cast<uint32_t>(dev.max_sge) + 1, 1, 0};
	require(!ibv_create_qp(pd.get(), &attr), "too many SGEs");
	attr.cap = {1, 1, 1, 1, 1 << 20};
	require(!ibv_create_qp(pd.get(), &attr), "too much inline data");
	ibv_srq_init_attr srq = {};
	srq.attr.max_wr = static_cast<uint32_t>(dev.max_srq_wr) + 1;
	srq.attr.max_sge = 1;
	require(!ibv_create_srq(pd.get(), &srq), "an SRQ too long");
	Buffer buffer(4096);
	require(!ibv_reg_mr(pd.get(), buffer.data(), 4096, IBV_ACCESS_REMOTE_WRITE),
		"remote write without local write");
	require(!ibv_reg_mr(pd.get(), nullptr, 4096, kAllAccess), "a region of nothing");
	require(!ibv_reg_mr(pd.get(), buffer.data(), UINT64_MAX - 4096, kAllAccess),
		"a region that wraps");
	env.control.sync();
}

// Objects in use cannot be destroyed.
void busy(Env &env)
{
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	ibv_srq_init_attr srq_attr = {};
	srq_attr.attr = {16, 1, 0};
	Srq srq(ibv_create_srq(pd.get(), &srq_attr));
	LinkOptions options;
	options.srq = srq.get();
	Link link(env.device, pd.get(), cq.get(), cq.get(), options);
	Arena arena(pd.get(), 4096);
	int error = ibv_dealloc_pd(pd.get());
	require(error == EBUSY, "dealloc_pd of a PD in use: %s", strerror(error));
	error = ibv_destroy_cq(cq.get());
	require(error == EBUSY, "destroy_cq of a CQ in use: %s", strerror(error));
	error = ibv_destroy_srq(srq.get());
	require(error == EBUSY, "destroy_srq of an SRQ in use: %s", strerror(error));
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"local/send-bad-key", [](Env &env) {
				bad_local(env, IBV_WR_SEND,
					  [](Work *w) { w->sges[0].lkey ^= 0x5500; });
			}});
	list.push_back({"local/write-beyond-region", [](Env &env) {
				bad_local(env, IBV_WR_RDMA_WRITE,
					  [](Work *w) { w->sges[0].addr += 65536 - 63; });
			}});
	list.push_back({"local/write-address-wraps", [](Env &env) {
				bad_local(env, IBV_WR_RDMA_WRITE,
					  [](Work *w) { w->sges[0].addr = UINT64_MAX - 7; });
			}});
	list.push_back({"local/read-bad-key", [](Env &env) {
				bad_local(env, IBV_WR_RDMA_READ,
					  [](Work *w) { w->sges[0].lkey ^= 0x5500; });
			}});
	list.push_back({"local/read-sink-readonly", sink_without_right});
	list.push_back({"local/other-pd", other_pd});
	list.push_back({"local/flush-order", flush_order});
	for (uint32_t before : {1, 5, 15, 16, 17, 40})
		list.push_back({"local/refused-behind-" + std::to_string(before) + "-writes",
				[before](Env &env) { refused_behind_writes(env, before); }});
	list.push_back({"local/flush-by-modify", flush_by_modify});
	list.push_back({"local/reset-drops", reset_drops});
	list.push_back({"local/refused-posts", refused_posts});
	list.push_back({"local/refused-creates", refused_creates});
	list.push_back({"local/busy-objects", busy});
});

} // namespace
} // namespace vt
