// SPDX-License-Identifier: GPL-2.0
// Modifying a live QP: each attribute in each state is accepted and then
// has effect, or is refused and changes nothing.
#include <cerrno>
#include <cstring>

#include "bench.h"

namespace vt {
namespace {

// ---- every attribute, transition and type of QP ----

struct Attribute {
	int bit;
	const char *name;
	void (*set)(ibv_qp_attr *a);
	bool (*is_set)(const ibv_qp_attr &a);
};

constexpr unsigned kSomeAccess = IBV_ACCESS_REMOTE_READ;

const Attribute kAttributes[] = {
	{IBV_QP_EN_SQD_ASYNC_NOTIFY, "EN_SQD_ASYNC_NOTIFY",
	 [](ibv_qp_attr *a) { a->en_sqd_async_notify = 1; },
	 [](const ibv_qp_attr &) { return true; }}, // not queried
	{IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS",
	 [](ibv_qp_attr *a) { a->qp_access_flags = kSomeAccess; },
	 [](const ibv_qp_attr &a) { return a.qp_access_flags == kSomeAccess; }},
	{IBV_QP_PKEY_INDEX, "PKEY_INDEX", [](ibv_qp_attr *a) { a->pkey_index = 0; },
	 [](const ibv_qp_attr &a) { return a.pkey_index == 0; }},
	{IBV_QP_PORT, "PORT", [](ibv_qp_attr *a) { a->port_num = 1; },
	 [](const ibv_qp_attr &a) { return a.port_num == 1; }},
	{IBV_QP_QKEY, "QKEY", [](ibv_qp_attr *a) { a->qkey = 0x2468; },
	 [](const ibv_qp_attr &a) { return a.qkey == 0x2468; }},
	{IBV_QP_AV, "AV", [](ibv_qp_attr *a) { a->ah_attr.grh.traffic_class = 20; },
	 [](const ibv_qp_attr &a) { return a.ah_attr.grh.traffic_class == 20; }},
	{IBV_QP_PATH_MTU, "PATH_MTU", [](ibv_qp_attr *a) { a->path_mtu = IBV_MTU_256; },
	 [](const ibv_qp_attr &a) { return a.path_mtu == IBV_MTU_256; }},
	{IBV_QP_TIMEOUT, "TIMEOUT", [](ibv_qp_attr *a) { a->timeout = 9; },
	 [](const ibv_qp_attr &a) { return a.timeout == 9; }},
	{IBV_QP_RETRY_CNT, "RETRY_CNT", [](ibv_qp_attr *a) { a->retry_cnt = 3; },
	 [](const ibv_qp_attr &a) { return a.retry_cnt == 3; }},
	{IBV_QP_RNR_RETRY, "RNR_RETRY", [](ibv_qp_attr *a) { a->rnr_retry = 2; },
	 [](const ibv_qp_attr &a) { return a.rnr_retry == 2; }},
	{IBV_QP_RQ_PSN, "RQ_PSN", [](ibv_qp_attr *a) { a->rq_psn = 0xabcdef; },
	 [](const ibv_qp_attr &a) { return a.rq_psn == 0xabcdef; }},
	{IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC", [](ibv_qp_attr *a) { a->max_rd_atomic = 5; },
	 [](const ibv_qp_attr &a) { return a.max_rd_atomic == 5; }},
	{IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER", [](ibv_qp_attr *a) { a->min_rnr_timer = 21; },
	 [](const ibv_qp_attr &a) { return a.min_rnr_timer == 21; }},
	{IBV_QP_SQ_PSN, "SQ_PSN", [](ibv_qp_attr *a) { a->sq_psn = 0xfedcba; },
	 [](const ibv_qp_attr &a) { return a.sq_psn == 0xfedcba; }},
	{IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC",
	 [](ibv_qp_attr *a) { a->max_dest_rd_atomic = 6; },
	 [](const ibv_qp_attr &a) { return a.max_dest_rd_atomic == 6; }},
	{IBV_QP_PATH_MIG_STATE, "PATH_MIG_STATE",
	 [](ibv_qp_attr *a) { a->path_mig_state = IBV_MIG_MIGRATED; },
	 [](const ibv_qp_attr &a) { return a.path_mig_state == IBV_MIG_MIGRATED; }},
	{IBV_QP_DEST_QPN, "DEST_QPN", [](ibv_qp_attr *a) { a->dest_qp_num = 0x654321; },
	 [](const ibv_qp_attr &a) { return a.dest_qp_num == 0x654321; }},
};

struct Transition {
	const char *name;
	ibv_qp_state from, to;
	int rc, uc, ud; // the attributes that may be modified, apart from the state
};

// IBTA table 91, as in ib_core. This device has no alternate paths.
const int kRunning = IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
const Transition kTransitions[] = {
	{"INIT to INIT", IBV_QPS_INIT, IBV_QPS_INIT,
	 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	{"RTS to RTS", IBV_QPS_RTS, IBV_QPS_RTS, kRunning | IBV_QP_MIN_RNR_TIMER, kRunning,
	 IBV_QP_QKEY},
	{"RTS to SQD", IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY,
	 IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{"SQD to SQD", IBV_QPS_SQD, IBV_QPS_SQD,
	 kRunning | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PKEY_INDEX |
		 IBV_QP_MIN_RNR_TIMER,
	 kRunning | IBV_QP_AV | IBV_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	{"SQD to RTS", IBV_QPS_SQD, IBV_QPS_RTS, kRunning | IBV_QP_MIN_RNR_TIMER, kRunning,
	 IBV_QP_QKEY},
};

ibv_qp_attr attributes_of(const Link &link)
{
	ibv_qp_attr a = {};
	ibv_qp_init_attr init = {};
	require(!ibv_query_qp(link.qp(), &a, 0x1ffffff, &init), "query_qp");
	return a;
}

// Returns the error, if any.
std::string try_attribute(Link *link, const Transition &t, const Attribute &attribute, bool may)
{
	ibv_qp_attr before = attributes_of(*link), a = before;
	// The address vector without what the kernel filled in.
	a.ah_attr.sl = 0;
	attribute.set(&a);
	a.qp_state = t.to;
	int error = link->modify(&a, attribute.bit | IBV_QP_STATE);
	ibv_qp_attr after = attributes_of(*link);
	if (may && error)
		return std::string(" is refused: ") + strerror(error);
	if (may)
		return attribute.is_set(after) ? "" : " is accepted and has no effect";
	if (error != EINVAL)
		return error ? std::string(" gives ") + strerror(error) : " is accepted";
	return after.qp_state == t.from && attribute.is_set(after) == attribute.is_set(before) ?
		       "" :
		       " is refused, and has an effect";
}

void every_attribute(Env &env)
{
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	std::string wrong;
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD})
		for (const Transition &t : kTransitions)
			for (const Attribute &attribute : kAttributes) {
				LinkOptions options;
				options.type = type;
				Link link(env.device, pd.get(), cq.get(), cq.get(), options);
				link.to_init();
				if (t.from != IBV_QPS_INIT) {
					link.to_rtr(link.address()); // to itself: nothing is sent
					link.to_rts();
				}
				if (t.from == IBV_QPS_SQD)
					link.move_to(IBV_QPS_SQD);
				int mask = type == IBV_QPT_RC ? t.rc :
					   type == IBV_QPT_UC ? t.uc :
								t.ud;
				std::string what =
					try_attribute(&link, t, attribute, mask & attribute.bit);
				if (!what.empty())
					wrong += std::string(" ") + t.name + ", type " +
						 std::to_string(type) + ": " + attribute.name +
						 what + ";";
			}
	require(wrong.empty(), "%s", wrong.c_str());
	env.control.sync();
}

// ---- attributes have effect ----

void change_in_sqd(Link *link, ibv_qp_attr *attr, int mask)
{
	link->move_to(IBV_QPS_SQD);
	int error = link->modify(attr, mask);
	require(!error, "modifying %#x in SQD: %s", mask, strerror(error));
	link->move_to(IBV_QPS_RTS);
}

// Both ends set this many outstanding READs.
void set_rd_atomic(ErrorBench *b, uint8_t depth)
{
	ibv_qp_attr attr = {};
	attr.max_rd_atomic = depth;
	attr.max_dest_rd_atomic = depth;
	if (b->env.client)
		change_in_sqd(&b->bench.link, &attr, IBV_QP_MAX_QP_RD_ATOMIC);
	else
		change_in_sqd(&b->bench.link, &attr, IBV_QP_MAX_DEST_RD_ATOMIC);
	b->env.control.sync();
}

void rd_atomic(Env &env)
{
	LinkOptions options = impatient();
	options.rd_atomic = 0;
	ErrorBench b(env, options);
	for (uint8_t depth : {1, 16, 4}) {
		set_rd_atomic(&b, depth);
		if (env.client) {
			for (uint64_t id = 0; id < 40; id++)
				post(b.bench.link, b.to_target(IBV_WR_RDMA_READ, id, 3000));
			for (uint64_t id = 0; id < 40; id++)
				b.bench.cq.expect(IBV_WC_SUCCESS, id, env.limit_s);
		}
		env.control.sync();
	}
	// The responder accepts none any more, and the requester does not know.
	if (!env.client) {
		ibv_qp_attr attr = {};
		change_in_sqd(&b.bench.link, &attr, IBV_QP_MAX_DEST_RD_ATOMIC);
	}
	env.control.sync();
	b.fails(b.to_target(IBV_WR_RDMA_READ), IBV_WC_REM_INV_REQ_ERR);
}

// It would have retried for ever.
void rnr_retry(Env &env)
{
	ErrorBench b(env);
	if (env.client) {
		ibv_qp_attr attr = {};
		change_in_sqd(&b.bench.link, &attr, IBV_QP_RNR_RETRY);
	}
	b.fails(b.to_target(IBV_WR_SEND), IBV_WC_RNR_RETRY_EXC_ERR);
}

// For an outstanding request that has no timeout so far.
void timeout(Env &env)
{
	LinkOptions options = impatient();
	options.timeout = 0;
	options.retries = 1;
	ErrorBench b(env, options);
	if (!env.client)
		b.bench.link.move_to(IBV_QPS_RESET);
	env.control.sync();
	if (env.client) {
		post(b.bench.link, b.to_target(IBV_WR_RDMA_WRITE));
		b.bench.cq.expect_none(0.3);
		b.bench.link.move_to(IBV_QPS_SQD);
		ibv_qp_attr attr = {};
		attr.timeout = 12;
		require(!b.bench.link.modify(&attr, IBV_QP_TIMEOUT), "TIMEOUT in SQD");
		b.bench.cq.expect(IBV_WC_RETRY_EXC_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

// The address is this host's, which has no such QP.
void address(Env &env)
{
	ErrorBench b(env);
	env.both_need(!b.peer_is_here(), "ends with an address each");
	if (env.client) {
		ibv_qp_attr attr = attributes_of(b.bench.link);
		attr.ah_attr.grh.dgid = env.device.gid();
		change_in_sqd(&b.bench.link, &attr, IBV_QP_AV);
	}
	b.fails(b.to_target(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
}

void set_access(Link *link, unsigned access)
{
	ibv_qp_attr attr = {};
	attr.qp_access_flags = access;
	int error = link->modify(&attr, IBV_QP_ACCESS_FLAGS);
	require(!error, "ACCESS_FLAGS in RTS: %s", strerror(error));
}

void access_flags(Env &env)
{
	ErrorBench b(env);
	if (!env.client)
		set_access(&b.bench.link, IBV_ACCESS_REMOTE_READ);
	env.control.sync();
	if (env.client) {
		post(b.bench.link, b.to_target(IBV_WR_RDMA_READ, 7));
		b.bench.cq.expect(IBV_WC_SUCCESS, 7, env.limit_s);
	}
	b.fails(b.to_target(IBV_WR_RDMA_WRITE), IBV_WC_REM_INV_REQ_ERR);
}

// Both ends ask for more than their ports support: each gets its own port's limit.
void path_mtu_above(Env &env)
{
	need_tern(env, "a path MTU that is cut to the port's");
	env.both_need(env.device.port().active_mtu < IBV_MTU_4096, "a port MTU below 4096");
	LinkOptions options = impatient();
	options.mtu = IBV_MTU_4096;
	ErrorBench b(env, options);
	ibv_mtu mtu = attributes_of(b.bench.link).path_mtu;
	require(mtu == env.device.port().active_mtu, "the path MTU is %u", mtu_bytes(mtu));
	if (env.client) {
		post(b.bench.link, b.to_target(IBV_WR_RDMA_WRITE, 1, 10000));
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		post(b.bench.link, b.to_target(IBV_WR_RDMA_READ, 2, 10000));
		b.bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
	}
	env.control.sync();
}

// A datagram with the old Q_Key is dropped, one with the new is received.
void qkey(Env &env, bool in_sqd)
{
	LinkOptions options;
	options.type = IBV_QPT_UD;
	Bench b(env, options, 65536);
	Link other(env.device, b.pd.get(), b.cq.get(), b.cq.get(), options);
	QpAddress theirs = env.control.exchange(b.link.address());
	theirs.qkey = 0x1357;
	other.to_init();
	other.to_rtr(theirs);
	other.to_rts();
	uint32_t sender = env.control.exchange(other.qp()->qp_num);
	if (!env.client) {
		ibv_qp_attr attr = {};
		attr.qkey = theirs.qkey;
		if (in_sqd)
			change_in_sqd(&b.link, &attr, IBV_QP_QKEY);
		else
			require(!b.link.modify(&attr, IBV_QP_QKEY), "QKEY in RTS");
		post_recv(b.link, 1, {b.arena.sge(0, 1000)});
	}
	env.control.sync();
	if (env.client) {
		post(b.link, {.id = 1, .sges = {b.arena.sge(0, 64)}});
		b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		post(other, {.id = 2, .sges = {b.arena.sge(0, 100)}});
		b.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
	} else {
		Completion c = b.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		require(c.src_qp == sender && c.bytes == 140, "%u bytes from QP %#x, not %#x",
			c.bytes, c.src_qp, sender);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"attribute/every", every_attribute});
	list.push_back({"attribute/rd-atomic", rd_atomic});
	list.push_back({"attribute/rnr-retry", rnr_retry});
	list.push_back({"attribute/timeout", timeout});
	list.push_back({"attribute/av", address});
	list.push_back({"attribute/access-flags", access_flags});
	list.push_back({"attribute/path-mtu-above", path_mtu_above});
	list.push_back({"attribute/qkey-rts", [](Env &env) { qkey(env, false); }});
	list.push_back({"attribute/qkey-sqd", [](Env &env) { qkey(env, true); }});
});

} // namespace
} // namespace vt
