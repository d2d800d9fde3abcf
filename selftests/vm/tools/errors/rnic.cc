// SPDX-License-Identifier: GPL-2.0
// RNICs only: QPs start in the idle state, and some attributes and services do not exist in iWARP.
#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "bench.h"
#include "qp_states.h"

namespace vt {
namespace {

void need_iwarp(Env &env)
{
	env.both_need(env.device.is_iwarp(), "iWARP");
}

// The state is INIT, as rdma-core expects of an RNIC. RESET is another name for it.
void idle(Env &env)
{
	need_iwarp(env);
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	Arena arena(pd.get(), 4096);
	Link link(env.device, pd.get(), cq.get(), cq.get(), {});
	require(link.state() == IBV_QPS_INIT, "a fresh QP is in state %d", link.state());
	post_recv(link, 1, {arena.sge(0, 64)});
	link.move_to(IBV_QPS_RESET);
	require(link.state() == IBV_QPS_INIT, "after RESET it is in state %d", link.state());
	cq.expect_none(0.1);
	post_recv(link, 2, {arena.sge(0, 64)});
	link.move_to(IBV_QPS_ERR);
	cq.expect(IBV_WC_WR_FLUSH_ERR, 2, env.limit_s);
	env.control.sync();
}

// They are accepted, and a query does not return them.
void foreign_attributes(Env &env)
{
	need_iwarp(env);
	ErrorBench b(env);
	ibv_qp_attr before = attributes_of(b.bench.link), a = before;
	a.timeout = 9;
	a.retry_cnt = 3;
	a.rnr_retry = 2;
	a.min_rnr_timer = 21;
	a.max_rd_atomic = 99;
	a.max_dest_rd_atomic = 98;
	a.qp_access_flags = 0;
	int error =
		b.bench.link.modify(&a, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC |
						IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS);
	require(!error, "modify: %s", strerror(error));
	a = attributes_of(b.bench.link);
	require(a.timeout == before.timeout && a.retry_cnt == before.retry_cnt &&
			a.rnr_retry == before.rnr_retry &&
			a.min_rnr_timer == before.min_rnr_timer &&
			a.qp_access_flags == before.qp_access_flags,
		"a query tells of what iWARP has not");
	require(a.max_rd_atomic == before.max_rd_atomic &&
			a.max_dest_rd_atomic == before.max_dest_rd_atomic,
		"depths %u and %u, agreed were %u and %u", a.max_rd_atomic, a.max_dest_rd_atomic,
		before.max_rd_atomic, before.max_dest_rd_atomic);
	a.pkey_index = 1;
	require(b.bench.link.modify(&a, IBV_QP_PKEY_INDEX), "P_Key index 1 was accepted");
	env.control.sync();
}

// iWARP has no such service.
void no_xrc(Env &env)
{
	need_iwarp(env);
	ibv_context *context = env.device.context();
	Pd pd = make_pd(context);
	Cq cq(env.device, {});
	ibv_xrcd_init_attr domain = {};
	ibv_qp_init_attr_ex attr = {};

	require(!env.device.can(IBV_DEVICE_XRC), "the device says that it has XRC");
	domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	domain.fd = -1;
	domain.oflags = O_CREAT;
	require(!ibv_open_xrcd(context, &domain) && errno == EOPNOTSUPP, "a domain: %m");
	attr.send_cq = attr.recv_cq = cq.get();
	attr.cap = {1, 1, 1, 1, 0};
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = pd.get();
	attr.qp_type = IBV_QPT_XRC_SEND;
	require(!ibv_create_qp_ex(context, &attr) && errno == EOPNOTSUPP, "an initiator: %m");
	attr.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	attr.qp_type = IBV_QPT_XRC_RECV;
	require(!ibv_create_qp_ex(context, &attr) && errno == EOPNOTSUPP, "a target: %m");
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"rnic/idle", idle});
	list.push_back({"rnic/foreign-attributes", foreign_attributes});
	list.push_back({"rnic/no-xrc", no_xrc});
});

} // namespace
} // namespace vt
