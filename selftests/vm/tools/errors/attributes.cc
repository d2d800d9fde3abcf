// SPDX-License-Identifier: GPL-2.0
// Modifying a live QP: attributes have effect.
#include <cerrno>
#include <cstring>

#include "bench.h"
#include "qp_states.h"

namespace vt {
namespace {

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
