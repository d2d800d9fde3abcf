// SPDX-License-Identifier: GPL-2.0
// See qp_states.h.
#include "qp_states.h"

#include <cerrno>

namespace vt {
namespace {

const ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
				IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
const char *const kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

constexpr unsigned kSomeAccess = IBV_ACCESS_REMOTE_READ;

const QpAttribute kAttributes[] = {
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

// Alternate paths are left out: few devices have them.
const int kPlace = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
const int kWay = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
const int kRequests = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
const int kRunning = IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;

// What may change in SQD.
const int kDrained = kRunning | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_PKEY_INDEX;

// Of RC, UC, UD, XRC_SEND, XRC_RECV.
const QpTransition kTransitions[] = {
	{IBV_QPS_RESET,
	 IBV_QPS_INIT,
	 {kPlace | IBV_QP_ACCESS_FLAGS, 0},
	 {kPlace | IBV_QP_ACCESS_FLAGS, 0},
	 {kPlace | IBV_QP_QKEY, 0},
	 {kPlace | IBV_QP_ACCESS_FLAGS, 0},
	 {kPlace | IBV_QP_ACCESS_FLAGS, 0}},
	{IBV_QPS_INIT,
	 IBV_QPS_INIT,
	 {0, kPlace | IBV_QP_ACCESS_FLAGS},
	 {0, kPlace | IBV_QP_ACCESS_FLAGS},
	 {0, kPlace | IBV_QP_QKEY},
	 {0, kPlace | IBV_QP_ACCESS_FLAGS},
	 {0, kPlace | IBV_QP_ACCESS_FLAGS}},
	{IBV_QPS_INIT,
	 IBV_QPS_RTR,
	 {kWay | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	 {kWay, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	 {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	 {kWay, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	 {kWay | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX}},
	{IBV_QPS_RTR,
	 IBV_QPS_RTS,
	 {kRequests | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, kRunning | IBV_QP_MIN_RNR_TIMER},
	 {IBV_QP_SQ_PSN, kRunning},
	 {IBV_QP_SQ_PSN, IBV_QP_QKEY},
	 {kRequests | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, kRunning},
	 {IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, kRunning | IBV_QP_MIN_RNR_TIMER}},
	{IBV_QPS_RTS,
	 IBV_QPS_RTS,
	 {0, kRunning | IBV_QP_MIN_RNR_TIMER},
	 {0, kRunning},
	 {0, IBV_QP_QKEY},
	 {0, kRunning},
	 {0, kRunning | IBV_QP_MIN_RNR_TIMER}},
	{IBV_QPS_RTS,
	 IBV_QPS_SQD,
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
	{IBV_QPS_SQD,
	 IBV_QPS_SQD,
	 {0, kDrained | kRequests | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
	 {0, kRunning | IBV_QP_AV | IBV_QP_PKEY_INDEX},
	 {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	 {0, kDrained | kRequests},
	 {0, kDrained | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER}},
	{IBV_QPS_SQD,
	 IBV_QPS_RTS,
	 {0, kRunning | IBV_QP_MIN_RNR_TIMER},
	 {0, kRunning},
	 {0, IBV_QP_QKEY},
	 {0, kRunning},
	 {0, kRunning | IBV_QP_MIN_RNR_TIMER}},
};

} // namespace

std::span<const ibv_qp_state> quiet_states()
{
	return kStates;
}

const char *state_name(ibv_qp_state state)
{
	return state <= IBV_QPS_ERR ? kNames[state] : "?";
}

std::span<const QpAttribute> qp_attributes()
{
	return kAttributes;
}

std::span<const QpTransition> qp_transitions()
{
	return kTransitions;
}

// IBTA 10.3.1, figure "QP/EE context state diagram"
bool is_legal(ibv_qp_state from, ibv_qp_state to)
{
	if (to == IBV_QPS_RESET)
		return true;
	if (to == IBV_QPS_ERR)
		return from != IBV_QPS_RESET;
	switch (from) {
	case IBV_QPS_RESET:
		return to == IBV_QPS_INIT;
	case IBV_QPS_INIT:
		return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
	case IBV_QPS_RTR:
		return to == IBV_QPS_RTS;
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
		return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
	default:
		return false;
	}
}

void bring_to(Link *link, ibv_qp_state state)
{
	if (state == IBV_QPS_RESET)
		return;
	link->to_init();
	if (state == IBV_QPS_INIT)
		return;
	if (state == IBV_QPS_ERR) {
		link->move_to(IBV_QPS_ERR);
		return;
	}
	link->to_rtr(link->address()); // to itself: nothing is sent
	if (state == IBV_QPS_RTR)
		return;
	link->to_rts();
	if (state == IBV_QPS_SQD)
		link->move_to(IBV_QPS_SQD);
}

// The attributes that the transition requires, so that only the transition can be refused.
int try_transition(Link *link, ibv_qp_state from, ibv_qp_state to)
{
	try {
		if (to == IBV_QPS_INIT && from != IBV_QPS_INIT)
			link->to_init();
		else if (to == IBV_QPS_RTR)
			link->to_rtr(link->address());
		else if (to == IBV_QPS_RTS && from != IBV_QPS_RTS && from != IBV_QPS_SQD)
			link->to_rts();
		else
			return link->to_state(to);
	} catch (const Failure &) {
		return EINVAL;
	}
	return 0;
}

ibv_qp_attr attributes_of(const Link &link)
{
	ibv_qp_attr a = {};
	ibv_qp_init_attr init = {};
	require(!ibv_query_qp(link.qp(), &a, 0x1ffffff, &init), "query_qp");
	return a;
}

} // namespace vt
