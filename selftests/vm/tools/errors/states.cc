// SPDX-License-Identifier: GPL-2.0
// QP states: what a query says, the queue operations that each state allows; the asynchronous
// events SQ drained, last WQE reached, CQ overrun.
#include <cerrno>
#include <cstring>
#include <memory>

#include "bench.h"
#include "qp_states.h"

namespace vt {
namespace {

// A query returns the values that were set.
void query(Env &env)
{
	LinkOptions options;
	options.psn = 0x123456;
	options.timeout = 17;
	options.retries = 5;
	options.rnr_retries = 6;
	options.min_rnr_timer = 20;
	options.rd_atomic = 4;
	Bench b(env, options, 4096);
	ibv_qp_attr a = {};
	ibv_qp_init_attr init = {};
	require(!ibv_query_qp(b.link.qp(), &a, 0x1ffffff, &init), "query_qp");
	require(a.qp_state == IBV_QPS_RTS && mtu_bytes(a.path_mtu) == b.link.mtu(),
		"state %d, MTU %d", a.qp_state, a.path_mtu);
	require(a.dest_qp_num == b.link.peer().qpn && a.rq_psn == 0x123456 && a.sq_psn == 0x123456,
		"dest_qp %#x, rq_psn %#x, sq_psn %#x", a.dest_qp_num, a.rq_psn, a.sq_psn);
	require(a.timeout == 17 && a.retry_cnt == 5 && a.rnr_retry == 6 && a.min_rnr_timer == 20,
		"timeout %u, retry %u, rnr_retry %u, min_rnr_timer %u", a.timeout, a.retry_cnt,
		a.rnr_retry, a.min_rnr_timer);
	require(a.max_rd_atomic == 4 && a.max_dest_rd_atomic == 4, "rd_atomic %u, dest %u",
		a.max_rd_atomic, a.max_dest_rd_atomic);
	require(a.qp_access_flags == static_cast<unsigned>(kAllAccess & ~IBV_ACCESS_LOCAL_WRITE) ||
			a.qp_access_flags == static_cast<unsigned>(kAllAccess),
		"access %#x", a.qp_access_flags);
	require(!memcmp(a.ah_attr.grh.dgid.raw, b.link.peer().gid.raw, 16), "the peer's GID");
	env.control.sync();
}

void posting(Env &env)
{
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	Arena arena(pd.get(), 4096);
	for (ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
		Link link(env.device, pd.get(), cq.get(), cq.get(), {});
		bring_to(&link, state);
		Work w{.sges = {arena.sge(0, 64)}};
		require(try_post(link, w), "post_send in %s succeeded", state_name(state));
		int error = try_post_recv(link, 1, {arena.sge(0, 64)});
		require(!error == (state != IBV_QPS_RESET), "post_recv in %s: %s",
			state_name(state), strerror(error));
	}
	env.control.sync();
}

// SQD: earlier requests complete, then the event is raised. Requests that are posted
// later wait until RTS.
void drain(Env &env)
{
	ErrorBench b(env);
	for (uint64_t id = 0; !env.client && id < 40; id++)
		post_recv(b.bench.link, id, {b.bench.arena.sge(0, 64)});
	env.control.sync();
	if (!env.client) {
		env.control.sync();
		return;
	}
	for (uint64_t id = 0; id < 30; id++)
		post(b.bench.link, b.to_target(IBV_WR_SEND, id));
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	int error = b.bench.link.modify(&attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	require(!error, "to SQD: %s", strerror(error));
	expect_event(env.device, IBV_EVENT_SQ_DRAINED, env.limit_s);
	ibv_qp_init_attr init = {};
	require(!ibv_query_qp(b.bench.link.qp(), &attr, IBV_QP_STATE, &init) && !attr.sq_draining,
		"still draining after the event");
	// The number that had begun depends on timing. The others wait with the new one.
	post(b.bench.link, b.to_target(IBV_WR_SEND, 30));
	uint64_t next = 0;
	double until = now_s() + 0.5;
	Completion c;
	while (now_s() < until)
		if (b.bench.cq.poll(&c)) {
			require_success(c, "send before SQD");
			require(c.wr_id == next++, "order");
		}
	require(next <= 30, "a send was executed in SQD");
	b.bench.link.move_to(IBV_QPS_RTS);
	while (next < 31)
		b.bench.cq.expect(IBV_WC_SUCCESS, next++, env.limit_s);
	env.control.sync();
}

// A QP with an SRQ raises an event in the error state when it takes no more receives.
void last_wqe(Env &env)
{
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	ibv_srq_init_attr attr = {};
	attr.attr = {16, 1, 0};
	Srq srq(ibv_create_srq(pd.get(), &attr));
	require(srq != nullptr, "ibv_create_srq: %m");
	LinkOptions options;
	options.srq = srq.get();
	Link link(env.device, pd.get(), cq.get(), cq.get(), options);
	link.connect(env.control);
	link.move_to(IBV_QPS_ERR);
	expect_event(env.device, IBV_EVENT_QP_LAST_WQE_REACHED, env.limit_s);
	env.control.sync();
}

// Client: READs until there are more completions than the CQ holds, or the QP takes no more.
uint32_t read_too_many(ErrorBench *b)
{
	uint32_t id = 0, room = static_cast<uint32_t>(b->bench.cq.get()->cqe);
	while (id < room + 64 && !try_post(b->bench.link, b->to_target(IBV_WR_RDMA_READ, id)))
		id++;
	return id;
}

// More completions than the CQ holds: the CQ raises an event, the QP whose completion has no room
// ends, and a QP with a CQ of its own does not notice.
void cq_overrun(Env &env)
{
	LinkOptions options = impatient();
	options.send_wr = 256;
	CqOptions tiny;
	tiny.entries = 8;
	ErrorBench b(env, options, kAllAccess, tiny);
	Bench other(env, {}, 65536);
	if (env.client) {
		uint32_t room = static_cast<uint32_t>(b.bench.cq.get()->cqe);
		read_too_many(&b);
		expect_event(env.device, IBV_EVENT_CQ_ERR, env.limit_s);
		expect_event(env.device, IBV_EVENT_QP_FATAL, env.limit_s);
		require(b.bench.link.state() == IBV_QPS_ERR, "the QP is in state %d",
			b.bench.link.state());
		// Completions that fitted can still be polled. Then polling says what is wrong.
		for (uint32_t id = 0; id < room; id++)
			b.bench.cq.expect(IBV_WC_SUCCESS, id, env.limit_s);
		ibv_wc wc = {};
		require(ibv_poll_cq(b.bench.cq.get(), 1, &wc) < 0, "polling goes on");
	}
	other.run({});
	env.control.sync();
}

// Created to ignore that: the newest completions take the place of the oldest, without an event,
// and the QP goes on.
void cq_overrun_ignored(Env &env)
{
	need_tern(env, "a CQ that ignores overruns");
	LinkOptions options = impatient();
	options.send_wr = 256;
	CqOptions tiny;
	tiny.entries = 8;
	tiny.extended = true;
	tiny.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	ErrorBench b(env, options, kAllAccess, tiny);
	if (env.client) {
		uint32_t room = static_cast<uint32_t>(b.bench.cq.get()->cqe);
		uint32_t posted = read_too_many(&b);
		// Time enough for all of them to complete.
		std::optional<ibv_event_type> event = next_event(env.device, 0.5 * slow());
		require(!event, "event '%s'", event ? ibv_event_type_str(*event) : "");
		require(b.bench.link.state() == IBV_QPS_RTS, "the QP is in state %d",
			b.bench.link.state());
		for (uint32_t id = posted - room; id < posted; id++)
			b.bench.cq.expect(IBV_WC_SUCCESS, id, env.limit_s);
		b.bench.cq.expect_none(0.1);
		post(b.bench.link, b.to_target(IBV_WR_RDMA_READ, posted));
		b.bench.cq.expect(IBV_WC_SUCCESS, posted, env.limit_s);
	}
	env.control.sync();
}

// A datagram with another Q_Key is dropped silently, and consumes no receive.
void wrong_qkey(Env &env)
{
	LinkOptions options;
	options.type = IBV_QPT_UD;
	Bench b(env, options, 65536);
	Link stray(env.device, b.pd.get(), b.cq.get(), b.cq.get(), options);
	QpAddress theirs = env.control.exchange(b.link.address());
	theirs.qkey ^= 1;
	stray.to_init();
	stray.to_rtr(theirs);
	stray.to_rts();
	if (!env.client)
		post_recv(b.link, 1, {b.arena.sge(0, 1000)});
	env.control.sync();
	if (env.client) {
		post(stray, {.id = 1, .sges = {b.arena.sge(0, 64)}});
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	} else {
		b.cq.expect_none(0.5);
	}
	env.control.sync();
	if (env.client)
		post(b.link, {.id = 1, .sges = {b.arena.sge(0, 100)}});
	Completion c = b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	require(env.client || c.bytes == 140, "received %u bytes", c.bytes);
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"state/query", query});
	list.push_back({"state/posting", posting});
	list.push_back({"state/sqd-drains", drain});
	list.push_back({"event/last-wqe-reached", last_wqe});
	list.push_back({"event/cq-overrun", cq_overrun});
	list.push_back({"event/cq-overrun-ignored", cq_overrun_ignored});
	list.push_back({"ud/wrong-qkey", wrong_qkey});
});

} // namespace
} // namespace vt
