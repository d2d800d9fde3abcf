// SPDX-License-Identifier: GPL-2.0
// See xrc_bench.h.
#include "xrc_bench.h"

#include <poll.h>

#include "pattern.h"

namespace vt {
namespace {

constexpr size_t kArenaBytes = 5 << 20;

Pd make_pd_for_xrc(Env &env)
{
	env.both_need(env.device.can(IBV_DEVICE_XRC), "XRC");
	return make_pd(env.device.context());
}

LinkOptions end_of(const Env &env, LinkOptions options, ibv_xrcd *domain, ibv_srq *srq)
{
	options.type = env.client ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV;
	options.modern = options.modern && env.client;
	options.xrcd = domain;
	options.srq = srq;
	return options;
}

} // namespace

DeviceChoice same_device(const Env &env)
{
	DeviceChoice choice;

	choice.netdev = env.netdev;
	choice.gid_index = env.device.gid_index();
	return choice;
}

Receiver::Receiver(const Device &device, ibv_xrcd *domain)
	: pd(make_pd(device.context())), cq(device, {}),
	  arena(pd.get(), size_t{kSlots} * kSlotBytes),
	  srq(make_xrc_srq(pd.get(), domain, cq.get())), number(number_of(srq.get()))
{
	arena.fill_canary();
}

void Receiver::post(uint32_t n)
{
	for (; n; n--, posted_++) {
		ibv_sge sge = arena.sge(posted_ % kSlots * kSlotBytes, kSlotBytes);

		require(!try_post_srq(srq.get(), posted_, {sge}), "posting to an XRC SRQ");
	}
}

Completion Receiver::expect(uint64_t key, uint32_t bytes, double limit_s)
{
	uint64_t at = taken_ % kSlots * kSlotBytes;
	Completion c = cq.expect(IBV_WC_SUCCESS, taken_++, limit_s);

	require(c.opcode == IBV_WC_RECV && c.bytes == bytes, "%u bytes, opcode %d", c.bytes,
		c.opcode);
	require(pattern_check(arena.at(at), bytes, key) == bytes, "message %lu is wrong",
		taken_ - 1);
	return c;
}

XrcBench::XrcBench(Env &e, const LinkOptions &options, const CqOptions &cq_options, int domain_fd,
		   MrKind kind)
	: env(e), pd(make_pd_for_xrc(e)), cq(e.device, cq_options),
	  arena(pd.get(), kArenaBytes, kAllAccess, kind),
	  domain(e.client ? nullptr : open_domain(e.device.context(), domain_fd)),
	  srq(e.client ? nullptr : make_xrc_srq(pd.get(), domain.get(), cq.get())),
	  number(of_server(srq ? number_of(srq.get()) : 0)),
	  link(e.device, pd.get(), cq.get(), cq.get(), end_of(e, options, domain.get(), srq.get()))
{
	link.connect(e.control);
}

void XrcBench::send(uint32_t srqn, uint64_t id, uint32_t bytes, uint64_t key)
{
	uint64_t at = id % 64 * Receiver::kSlotBytes;

	pattern_fill(arena.at(at), bytes, key);
	post(link, {.id = id, .sges = {arena.sge(at, bytes)}, .srqn = srqn});
}

void XrcBench::write(uint32_t srqn, uint64_t id, const Remote &to)
{
	post(link, {.opcode = IBV_WR_RDMA_WRITE,
		    .id = id,
		    .sges = {arena.sge(0, 64)},
		    .remote_va = to.va,
		    .rkey = to.rkey,
		    .srqn = srqn});
}

void XrcBench::reconnect()
{
	link.move_to(IBV_QPS_RESET);
	link.connect(env.control);
}

void expect_qp_event(Env &env, const ibv_qp *qp, ibv_event_type type)
{
	ibv_context *context = env.device.context();
	double deadline = now_s() + env.limit_s;

	for (double left = env.limit_s; left > 0; left = deadline - now_s()) {
		pollfd ready = {context->async_fd, POLLIN, 0};
		ibv_async_event event;

		if (poll(&ready, 1, static_cast<int>(left * 1000)) != 1 ||
		    ibv_get_async_event(context, &event))
			break;
		bool right = event.event_type == type && event.element.qp == qp;
		ibv_ack_async_event(&event);
		if (right)
			return;
	}
	fail("no event '%s'", ibv_event_type_str(type));
}

} // namespace vt
