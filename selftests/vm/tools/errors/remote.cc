// SPDX-License-Identifier: GPL-2.0
// Requests that the responder must reject: keys, bounds, rights, protection domains,
// receive buffers that are too short or of another PD; and peers that never answer.
#include <cerrno>
#include <cstring>

#include "bench.h"

namespace vt {
namespace {

const ibv_wr_opcode kTouching[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
				   IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};

bool is_atomic(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

// For each opcode with a remote address: a new pair, and a request that `spoil` changes.
void each_touching(Env &env, ibv_wc_status status, void (*spoil)(Work *, const Remote &),
		   int target_access = kAllAccess)
{
	for (ibv_wr_opcode opcode : kTouching) {
		ErrorBench b(env, impatient(), target_access);
		if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !env.client)
			post_recv(b.bench.link, 5, {});
		env.control.sync();
		Work w = b.to_target(opcode, 1, is_atomic(opcode) ? 8 : 64);
		spoil(&w, b.there);
		b.fails(w, status);
	}
}

void bad_key(Work *w, const Remote &)
{
	w->rkey ^= 0x5500;
}

void stale_key_part(Work *w, const Remote &)
{
	w->rkey ^= 1;
}

void beyond_end(Work *w, const Remote &there)
{
	w->remote_va = there.va + kTargetBytes - (is_atomic(w->opcode) ? 0 : 63);
}

void before_start(Work *w, const Remote &there)
{
	w->remote_va = there.va - 8;
}

// va + length wraps round to a small number.
void wraps(Work *w, const Remote &)
{
	w->remote_va = UINT64_MAX - 7;
}

void rights(Env &env)
{
	struct {
		ibv_wr_opcode opcode;
		int access;
	} rows[] = {
		{IBV_WR_RDMA_WRITE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ},
		{IBV_WR_RDMA_READ, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
		{IBV_WR_ATOMIC_FETCH_AND_ADD,
		 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE},
		{IBV_WR_RDMA_WRITE, 0},
		{IBV_WR_RDMA_READ, IBV_ACCESS_LOCAL_WRITE},
	};
	for (const auto &row : rows) {
		ErrorBench b(env, impatient(), row.access);
		b.fails(b.to_target(row.opcode, 1, 8), IBV_WC_REM_ACCESS_ERR);
	}
}

// An operation that the responder QP is not enabled for is an invalid request.
void qp_rights(Env &env)
{
	struct {
		ibv_wr_opcode opcode;
		int access;
	} rows[] = {
		{IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_READ},
		{IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_WRITE},
		{IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ},
	};
	for (const auto &row : rows) {
		LinkOptions options = impatient();
		options.access = row.access;
		ErrorBench b(env, options);
		b.fails(b.to_target(row.opcode, 1, 8), IBV_WC_REM_INV_REQ_ERR);
	}
}

void other_pd(Env &env)
{
	ErrorBench b(env);
	Pd pd = make_pd(env.device.context());
	Arena foreign(pd.get(), 4096);
	Remote theirs = env.control.exchange(foreign.remote());
	Work w = b.to_target(IBV_WR_RDMA_WRITE);
	w.remote_va = theirs.va;
	w.rkey = theirs.rkey;
	b.fails(w, IBV_WC_REM_ACCESS_ERR);
}

void odd_atomic(Env &env)
{
	for (ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		ErrorBench b(env);
		Work w = b.to_target(opcode, 1, 8);
		w.remote_va += 4;
		// A provider may refuse it before the wire does.
		if (env.client && try_post(b.bench.link, w) == EINVAL)
			skip("post_send refuses it already");
		if (env.client)
			b.bench.cq.expect(IBV_WC_REM_INV_REQ_ERR, 1, env.limit_s);
		env.control.sync();
	}
}

// A request of 0 bytes accesses no memory: its key is not checked (IBTA C9-88).
void empty_request(Env &env)
{
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		ErrorBench b(env);
		Work w = b.to_target(opcode);
		w.sges.clear();
		w.rkey = 0;
		w.remote_va = 0;
		b.fails(w, IBV_WC_SUCCESS);
	}
}

void dead_key(Env &env)
{
	ErrorBench b(env);
	Pd pd = make_pd(env.device.context());
	Arena gone(b.bench.pd.get(), 4096);
	Remote theirs = env.control.exchange(gone.remote());
	gone.deregister();
	env.control.sync();
	Work w = b.to_target(IBV_WR_RDMA_READ);
	w.remote_va = theirs.va;
	w.rkey = theirs.rkey;
	b.fails(w, IBV_WC_REM_ACCESS_ERR);
}

// The server's receive is bad: the statuses at the server and the client.
void bad_receive(Env &env, void (*spoil)(std::vector<ibv_sge> *), ibv_wc_status there,
		 ibv_wc_status here)
{
	// A message of one packet, and one of several.
	for (uint32_t bytes : {200u, 9000u}) {
		ErrorBench b(env);
		if (!env.client) {
			std::vector<ibv_sge> sges = {b.bench.arena.sge(0, bytes)};
			spoil(&sges);
			post_recv(b.bench.link, 3, sges);
			post_recv(b.bench.link, 4, {b.bench.arena.sge(0, bytes)});
		}
		env.control.sync();
		if (env.client) {
			post(b.bench.link, b.to_target(IBV_WR_SEND, 1, bytes));
			b.bench.cq.expect(here, 1, env.limit_s);
		} else {
			b.bench.cq.expect(there, 3, env.limit_s);
			b.bench.cq.expect(IBV_WC_WR_FLUSH_ERR, 4, env.limit_s);
		}
		env.control.sync();
	}
}

void no_receive(Env &env)
{
	LinkOptions options = impatient();
	options.rnr_retries = 2;
	options.min_rnr_timer = 1;
	ErrorBench b(env, options);
	if (env.client) {
		post(b.bench.link, b.to_target(IBV_WR_SEND));
		b.bench.cq.expect(IBV_WC_RNR_RETRY_EXC_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

// rnr_retry 7 means for ever: a late receive ends the wait.
void late_receive(Env &env)
{
	ErrorBench b(env);
	if (env.client) {
		post(b.bench.link, b.to_target(IBV_WR_SEND));
		b.bench.cq.expect_none(0.5);
		env.control.sync();
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	} else {
		env.control.sync();
		post_recv(b.bench.link, 3, {b.bench.arena.sge(0, 64)});
		b.bench.cq.expect(IBV_WC_SUCCESS, 3, env.limit_s);
	}
	env.control.sync();
}

void peer_gone(Env &env)
{
	ErrorBench b(env);
	if (!env.client)
		b.bench.link.destroy();
	env.control.sync();
	b.fails(b.to_target(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
}

// A peer in the error state does not answer either.
void peer_in_error(Env &env)
{
	ErrorBench b(env);
	if (!env.client)
		b.bench.link.move_to(IBV_QPS_ERR);
	env.control.sync();
	b.fails(b.to_target(IBV_WR_RDMA_READ), IBV_WC_RETRY_EXC_ERR);
}

// The responder's program gets an event about a rejected request.
void responder_event(Env &env)
{
	ErrorBench b(env);
	Work w = b.to_target(IBV_WR_RDMA_WRITE);
	w.rkey ^= 0x5500;
	b.fails(w, IBV_WC_REM_ACCESS_ERR);
	if (!env.client) {
		expect_event(env.device, IBV_EVENT_QP_ACCESS_ERR, 3);
		require(b.bench.link.state() == IBV_QPS_ERR, "the responder QP is not in ERR");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	struct {
		const char *name;
		void (*spoil)(Work *, const Remote &);
	} rows[] = {{"bad-key", bad_key},
		    {"key-part", stale_key_part},
		    {"beyond-end", beyond_end},
		    {"before-start", before_start},
		    {"address-wraps", wraps}};
	for (const auto &row : rows)
		list.push_back({std::string("remote/") + row.name, [spoil = row.spoil](Env &env) {
					each_touching(env, IBV_WC_REM_ACCESS_ERR, spoil);
				}});
	list.push_back({"remote/region-rights", rights});
	list.push_back({"remote/qp-rights", qp_rights});
	list.push_back({"remote/other-pd", other_pd});
	list.push_back({"remote/odd-atomic", odd_atomic});
	list.push_back({"remote/empty-request-needs-no-key", empty_request});
	list.push_back({"remote/dead-key", dead_key});
	list.push_back({"remote/receive-too-short", [](Env &env) {
				bad_receive(
					env, [](std::vector<ibv_sge> *s) { s->back().length--; },
					IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
			}});
	list.push_back({"remote/receive-bad-key", [](Env &env) {
				bad_receive(
					env,
					[](std::vector<ibv_sge> *s) { s->back().lkey ^= 0x5500; },
					IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
			}});
	list.push_back({"remote/no-receive", no_receive});
	list.push_back({"remote/late-receive", late_receive});
	list.push_back({"remote/peer-gone", peer_gone});
	list.push_back({"remote/peer-in-error", peer_in_error});
	list.push_back({"remote/responder-event", responder_event});
});

} // namespace
} // namespace vt
