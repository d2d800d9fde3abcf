// SPDX-License-Identifier: GPL-2.0
// Rate limits of QPs that are refused: values, states, types of QP, devices without them.
#include <cerrno>
#include <cstring>

#include "bench.h"
#include "xrc.h"

namespace vt {
namespace {

int try_rate(const Link &link, uint32_t kbps, uint32_t burst = 0, uint16_t packet = 0)
{
	ibv_qp_rate_limit_attr attr = {};
	attr.rate_limit = kbps;
	attr.max_burst_sz = burst;
	attr.typical_pkt_sz = packet;
	return ibv_modify_qp_rate_limit(link.qp(), &attr);
}

void gives(const Link &link, int want, uint32_t kbps, uint32_t burst = 0, uint16_t packet = 0)
{
	int error = try_rate(link, kbps, burst, packet);
	require(error == want, "rate %u, burst %u: %s, not %s", kbps, burst, strerror(error),
		strerror(want));
}

bool has_rates(const Device &device)
{
	return device.attr_ex().packet_pacing_caps.qp_rate_limit_max;
}

// To itself, without a peer.
struct LoneLink {
	LoneLink(Env &env, ibv_qp_type type)
		: pd(make_pd(env.device.context())), cq(env.device, {}),
		  link(env.device, pd.get(), cq.get(), cq.get(), of_type(type))
	{}
	static LinkOptions of_type(ibv_qp_type type)
	{
		LinkOptions options;
		options.type = type;
		return options;
	}
	void to_rts()
	{
		link.to_init();
		link.to_rtr(link.address());
		link.to_rts();
	}
	Pd pd;
	Cq cq;
	Link link;
};

void values(Env &env)
{
	need_tern(env, "rate limits");
	env.both_need(has_rates(env.device), "rate limits");
	const ibv_packet_pacing_caps &caps = env.device.attr_ex().packet_pacing_caps;
	LoneLink b(env, IBV_QPT_RC);
	b.to_rts();
	gives(b.link, 0, caps.qp_rate_limit_min);
	gives(b.link, 0, caps.qp_rate_limit_max);
	gives(b.link, EINVAL, caps.qp_rate_limit_max + 1);
	gives(b.link, EINVAL, UINT32_MAX);
	gives(b.link, 0, 1000, 1);
	gives(b.link, 0, 1000, UINT32_MAX, UINT16_MAX);
	gives(b.link, 0, 0);
	gives(b.link, EINVAL, 0, 1);
	gives(b.link, EINVAL, 0, 0, 1);
	ibv_qp_rate_limit_attr unknown = {};
	unknown.rate_limit = 1000;
	unknown.comp_mask = 1;
	require(ibv_modify_qp_rate_limit(b.link.qp(), &unknown) == EINVAL, "a comp_mask is taken");
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	int error = ibv_query_qp(b.link.qp(), &attr, IBV_QP_RATE_LIMIT, &init);
	require(error == EOPNOTSUPP, "a query of the rate: %s", strerror(error));
	env.control.sync();
}

// On the way to RTS, in RTS, and in SQD.
void in_each_state(Env &env, ibv_qp_type type)
{
	LoneLink b(env, type);
	gives(b.link, EINVAL, 1000); // RESET
	b.link.to_init();
	gives(b.link, EINVAL, 1000);
	b.link.to_rtr(b.link.address());
	gives(b.link, EINVAL, 1000);
	b.link.to_rts();
	gives(b.link, 0, 1000);
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_RTS;
	attr.rate_limit = 2000;
	int error = b.link.modify(&attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT);
	require(!error, "RTS to RTS: %s", strerror(error));
	attr.qp_state = IBV_QPS_SQD;
	error = b.link.modify(&attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT);
	require(error == EINVAL, "RTS to SQD: %s", strerror(error));
	b.link.move_to(IBV_QPS_SQD);
	gives(b.link, 0, 3000);
	attr.qp_state = IBV_QPS_RTS;
	error = b.link.modify(&attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT);
	require(!error, "SQD to RTS: %s", strerror(error));
	b.link.move_to(IBV_QPS_ERR);
	gives(b.link, EINVAL, 1000);
	b.link.move_to(IBV_QPS_RESET);
	gives(b.link, EINVAL, 1000);
}

void states(Env &env)
{
	need_tern(env, "rate limits");
	env.both_need(has_rates(env.device), "rate limits");
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND})
		in_each_state(env, type);
	env.control.sync();
}

// With the transition to RTS, as programs that know the rate from the beginning set it.
void with_rts(Env &env)
{
	need_tern(env, "rate limits");
	env.both_need(has_rates(env.device), "rate limits");
	LoneLink b(env, IBV_QPT_UD);
	b.link.to_init();
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_RTR;
	attr.rate_limit = 1000;
	int error = b.link.modify(&attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT);
	require(error == EINVAL, "INIT to RTR: %s", strerror(error));
	b.link.move_to(IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	error = b.link.modify(&attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RATE_LIMIT);
	require(!error, "RTR to RTS: %s", strerror(error));
	env.control.sync();
}

// A target sends no requests; an RNIC has TCP.
void not_supported(Env &env)
{
	need_tern(env, "a check of rate limits");
	if (!has_rates(env.device)) {
		LoneLink b(env, IBV_QPT_RC);
		b.link.to_init();
		gives(b.link, EOPNOTSUPP, 1000);
		gives(b.link, EOPNOTSUPP, 0);
	} else {
		Xrcd domain = open_domain(env.device.context());
		LinkOptions options;
		options.type = IBV_QPT_XRC_RECV;
		Link target(env.device, make_target(env.device.context(), domain.get()), options);
		target.to_init();
		gives(target, EOPNOTSUPP, 1000);
		target.to_rtr(target.address());
		target.to_rts();
		gives(target, EOPNOTSUPP, 1000);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"rate/values", values});
	list.push_back({"rate/states", states});
	list.push_back({"rate/with-rts", with_rts});
	list.push_back({"rate/not-supported", not_supported});
});

} // namespace
} // namespace vt
