// SPDX-License-Identifier: GPL-2.0
// What ibv_query_qp() says in each state: what was set so far and nothing else, the state that the
// QP is in, also when it went there by itself or by its peer's doing, and what was granted.
#include <cerrno>
#include <cstring>
#include <optional>

#include "bench.h"
#include "xrc.h"

namespace vt {
namespace {

constexpr int kAll = 0x1ffffff; // all attributes that a query may name

LinkOptions unusual(ibv_qp_type type)
{
	LinkOptions options;
	options.type = type;
	options.psn = 0x123456;
	options.timeout = 17;
	options.retries = 5;
	options.rnr_retries = 6;
	options.min_rnr_timer = 20;
	options.rd_atomic = 4;
	options.qkey = 0x2468;
	options.mtu = IBV_MTU_512;
	options.inline_bytes = 40;
	options.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	return options;
}

// How far a QP got: what was set on the way is shown, whatever happened since.
enum Stage { kReset, kInit, kRtr, kRts };

struct Query {
	ibv_qp_attr attr;
	ibv_qp_init_attr init;
};

Query query(const Link &link)
{
	Query q;
	memset(&q, 0xa5, sizeof(q));
	int error = ibv_query_qp(link.qp(), &q.attr, kAll, &q.init);
	require(!error, "ibv_query_qp: %s", strerror(error));
	return q;
}

bool has_queues(const LinkOptions &options)
{
	return options.type != IBV_QPT_XRC_RECV;
}

bool has_receives(const LinkOptions &options)
{
	return has_queues(options) && options.type != IBV_QPT_XRC_SEND;
}

void check_cap(const Link &link, const Query &q)
{
	const LinkOptions &o = link.options();
	const ibv_qp_cap &cap = q.attr.cap;
	require(!memcmp(&cap, &q.init.cap, sizeof(cap)), "two different capabilities");
	if (!has_queues(o)) {
		require(!cap.max_send_wr && !cap.max_send_sge && !cap.max_inline_data,
			"a target with a send queue");
	} else {
		require(cap.max_send_wr >= o.send_wr && cap.max_send_sge >= o.sges,
			"%u sends of %u SGEs", cap.max_send_wr, cap.max_send_sge);
		require(cap.max_inline_data == link.inline_bytes(), "inline %u, not %u",
			cap.max_inline_data, link.inline_bytes());
	}
	require(has_receives(o) ? cap.max_recv_wr >= o.recv_wr && cap.max_recv_sge >= o.sges :
				  !cap.max_recv_wr && !cap.max_recv_sge,
		"%u receives of %u SGEs", cap.max_recv_wr, cap.max_recv_sge);
	require(q.init.qp_type == o.type, "type %d", q.init.qp_type);
	require(q.init.sq_sig_all == o.all_signalled, "sq_sig_all %d", q.init.sq_sig_all);
}

// What no QP has here.
void check_absent(const ibv_qp_attr &a)
{
	require(a.path_mig_state == IBV_MIG_MIGRATED, "path_mig_state %d", a.path_mig_state);
	require(!a.alt_ah_attr.is_global && !a.alt_ah_attr.dlid && !a.alt_ah_attr.port_num &&
			!a.alt_port_num && !a.alt_pkey_index && !a.alt_timeout,
		"an alternate path");
	require(!a.pkey_index && a.port_num == 1, "pkey_index %u, port %u", a.pkey_index,
		a.port_num);
}

#define REQUIRE_IS(member, want)                                                                   \
	require(a.member == static_cast<decltype(a.member)>(want), #member " is %#x, not %#x",     \
		static_cast<unsigned>(a.member), static_cast<unsigned>(want))

// The attributes of a connected QP.
void check_connected(const Link &link, const ibv_qp_attr &a, Stage stage)
{
	const LinkOptions &o = link.options();
	bool rtr = stage >= kRtr, rts = stage >= kRts;
	bool rc = o.type == IBV_QPT_RC, sends = rc || o.type == IBV_QPT_XRC_SEND;
	bool answers = rc || o.type == IBV_QPT_XRC_RECV;
	ibv_gid no_gid = {};
	REQUIRE_IS(qp_access_flags, stage >= kInit ? o.access : 0);
	REQUIRE_IS(path_mtu, rtr ? IBV_MTU_512 : 0);
	REQUIRE_IS(dest_qp_num, rtr ? link.peer().qpn : 0);
	REQUIRE_IS(rq_psn, rtr ? 0x123456 : 0);
	REQUIRE_IS(sq_psn, rts ? 0x123456 : 0);
	REQUIRE_IS(max_dest_rd_atomic, rtr && answers ? 4 : 0);
	REQUIRE_IS(min_rnr_timer, rtr && answers ? 20 : 0);
	REQUIRE_IS(max_rd_atomic, rts && sends ? 4 : 0);
	REQUIRE_IS(retry_cnt, rts && sends ? 5 : 0);
	REQUIRE_IS(rnr_retry, rts && sends ? 6 : 0);
	REQUIRE_IS(timeout, rts && o.type != IBV_QPT_UC ? 17 : 0);
	REQUIRE_IS(qkey, 0);
	REQUIRE_IS(ah_attr.is_global, rtr);
	require(!memcmp(&a.ah_attr.grh.dgid, rtr ? &link.peer().gid : &no_gid, sizeof(no_gid)),
		"the peer's GID");
	REQUIRE_IS(ah_attr.grh.hop_limit, rtr ? 64 : 0);
}

void check_datagram(const Link &link, const ibv_qp_attr &a, Stage stage)
{
	REQUIRE_IS(qkey, stage >= kInit ? link.options().qkey : 0);
	REQUIRE_IS(sq_psn, stage >= kRts ? 0x123456 : 0);
	REQUIRE_IS(dest_qp_num, 0);
	REQUIRE_IS(qp_access_flags, 0);
	REQUIRE_IS(ah_attr.is_global, 0);
}

// On RoCE, and nothing was sent.
void is_in(const Link &link, ibv_qp_state state, Stage stage)
{
	Query q = query(link);
	const ibv_qp_attr &a = q.attr;
	try {
		REQUIRE_IS(qp_state, state);
		REQUIRE_IS(cur_qp_state, state);
		REQUIRE_IS(sq_draining, 0);
		check_cap(link, q);
		check_absent(a);
		if (link.options().type == IBV_QPT_UD)
			check_datagram(link, a, stage);
		else
			check_connected(link, a, stage);
	} catch (const Failure &failure) {
		fail("in state %d: %s", state, failure.what());
	}
}

void walk(Link *link)
{
	is_in(*link, IBV_QPS_RESET, kReset);
	link->to_init();
	is_in(*link, IBV_QPS_INIT, kInit);
	link->to_rtr(link->address());
	is_in(*link, IBV_QPS_RTR, kRtr);
	link->to_rts();
	is_in(*link, IBV_QPS_RTS, kRts);
	link->move_to(IBV_QPS_SQD);
	is_in(*link, IBV_QPS_SQD, kRts);
	link->move_to(IBV_QPS_RTS);
	is_in(*link, IBV_QPS_RTS, kRts);
	link->move_to(IBV_QPS_ERR);
	is_in(*link, IBV_QPS_ERR, kRts);
	link->move_to(IBV_QPS_RESET);
	is_in(*link, IBV_QPS_RESET, kReset);
}

void each_state(Env &env, ibv_qp_type type)
{
	need_tern(env, "queries that show nothing else");
	if (env.device.is_iwarp())
		skip("iWARP has none of the attributes");
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	for (bool all_signalled : {false, true}) {
		LinkOptions options = unusual(type);
		options.all_signalled = all_signalled;
		Link link(env.device, pd.get(), cq.get(), cq.get(), options);
		walk(&link);
		// SQD is not necessary for ERR, nor RTS.
		link.to_init();
		link.move_to(IBV_QPS_ERR);
		is_in(link, IBV_QPS_ERR, kInit);
	}
	env.control.sync();
}

void target(Env &env)
{
	need_tern(env, "queries that show nothing else");
	env.both_need(env.device.can(IBV_DEVICE_XRC), "XRC");
	Xrcd domain = open_domain(env.device.context());
	Link link(env.device, make_target(env.device.context(), domain.get()),
		  unusual(IBV_QPT_XRC_RECV));
	walk(&link);
	env.control.sync();
}

// A datagram from memory that is not registered: SQE, by itself, and back.
void send_queue_error(Env &env)
{
	need_tern(env, "queries that show nothing else");
	if (env.device.is_iwarp())
		skip("there are no datagrams in iWARP");
	Bench b(env, unusual(IBV_QPT_UD), 4096);
	is_in(b.link, IBV_QPS_RTS, kRts);
	Work w{.id = 1, .sges = {b.arena.sge(0, 64)}};
	w.sges[0].lkey ^= 0x5500;
	post(b.link, w);
	b.cq.expect(IBV_WC_LOC_PROT_ERR, 1, env.limit_s);
	is_in(b.link, IBV_QPS_SQE, kRts);
	b.link.move_to(IBV_QPS_RTS);
	is_in(b.link, IBV_QPS_RTS, kRts);
	env.control.sync();
}

// PSNs go on with what is sent and received.
void psns(Env &env)
{
	need_tern(env, "PSNs as they are now");
	if (env.device.is_iwarp())
		skip("iWARP has no PSNs");
	Bench b(env, unusual(IBV_QPT_RC), 65536);
	Batch batch;
	batch.bytes = 1000; // two packets
	batch.count = 5;
	b.run(batch);
	ibv_qp_attr a = query(b.link).attr;
	require(a.sq_psn == 0x123456u + (env.client ? 10 : 0), "sq_psn %#x", a.sq_psn);
	require(a.rq_psn == 0x123456u + (env.client ? 0 : 10), "rq_psn %#x", a.rq_psn);
	env.control.sync();
}

// An error at either end is one of both.
void after_an_error(Env &env)
{
	ErrorBench b(env);
	Work w = b.to_target(IBV_WR_RDMA_WRITE);
	w.rkey ^= 0x5500;
	if (env.client) {
		post(b.bench.link, w);
		if (!env.device.is_iwarp())
			b.bench.cq.expect(IBV_WC_REM_ACCESS_ERR, 1, env.limit_s);
	}
	double deadline = now_s() + env.limit_s;
	while (b.bench.link.state() != IBV_QPS_ERR)
		require(now_s() < deadline, "state %d", b.bench.link.state());
	ibv_qp_attr a = query(b.bench.link).attr;
	REQUIRE_IS(cur_qp_state, IBV_QPS_ERR);
	REQUIRE_IS(sq_draining, 0);
	env.control.sync();
}

// SQD while a request is under way, which never ends; then the end.
void draining(Env &env)
{
	need_tern(env, "SQD while a request is under way");
	if (env.device.is_iwarp())
		skip("SQD closes the connection in iWARP");
	LinkOptions options;
	options.rnr_retries = 7;
	Bench b(env, options, 4096);
	if (env.client) {
		post(b.link, {.id = 1, .sges = {b.arena.sge(0, 64)}});
		// It is begun when its PSN is taken.
		double deadline = now_s() + env.limit_s;
		while (query(b.link).attr.sq_psn == b.link.address().psn)
			require(now_s() < deadline, "the request is not begun");
		b.link.move_to(IBV_QPS_SQD);
		ibv_qp_attr a = query(b.link).attr;
		REQUIRE_IS(qp_state, IBV_QPS_SQD);
		REQUIRE_IS(cur_qp_state, IBV_QPS_SQD);
		REQUIRE_IS(sq_draining, 1);
		b.link.move_to(IBV_QPS_ERR);
		a = query(b.link).attr;
		REQUIRE_IS(qp_state, IBV_QPS_ERR);
		REQUIRE_IS(sq_draining, 0);
		b.cq.expect(IBV_WC_WR_FLUSH_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

// An RNIC has states and queues, and none of the attributes.
void rnic(Env &env)
{
	need_tern(env, "queries that show nothing else");
	if (!env.device.is_iwarp())
		skip("no iWARP device");
	Bench b(env, unusual(IBV_QPT_RC), 4096);
	for (ibv_qp_state state : {IBV_QPS_RTS, IBV_QPS_ERR}) {
		if (state == IBV_QPS_ERR)
			b.link.move_to(state);
		Query q = query(b.link);
		const ibv_qp_attr &a = q.attr;
		REQUIRE_IS(qp_state, state);
		REQUIRE_IS(cur_qp_state, state);
		REQUIRE_IS(sq_draining, 0);
		REQUIRE_IS(dest_qp_num, 0);
		REQUIRE_IS(timeout, 0);
		REQUIRE_IS(path_mtu, 0);
		check_cap(b.link, q);
		check_absent(a);
		env.control.sync();
	}
}

Register cases([](Cases &list) {
	list.push_back({"query/rc", [](Env &env) { each_state(env, IBV_QPT_RC); }});
	list.push_back({"query/uc", [](Env &env) { each_state(env, IBV_QPT_UC); }});
	list.push_back({"query/ud", [](Env &env) { each_state(env, IBV_QPT_UD); }});
	list.push_back(
		{"query/xrc-initiator", [](Env &env) { each_state(env, IBV_QPT_XRC_SEND); }});
	list.push_back({"query/xrc-target", target});
	list.push_back({"query/send-queue-error", send_queue_error});
	list.push_back({"query/psns", psns});
	list.push_back({"query/after-an-error", after_an_error});
	list.push_back({"query/draining", draining});
	list.push_back({"rnic/query", rnic});
});

} // namespace
} // namespace vt
