// SPDX-License-Identifier: GPL-2.0
// Requests that come before the peer's QP is ready are lost, and are sent again.
#include "bench.h"

namespace vt {
namespace {

// A window is bound behind the lost request, at once and only once: when the request has gone
// again, nothing is left to send. The kernel must say so, or the provider does not ring for the
// next one. On the local path nothing else would make the kernel look.
void bind_behind_lost(Env &env)
{
	env.both_need(!env.device.is_iwarp(), "a QP that connects by itself");
	env.both_need(env.device.can(IBV_DEVICE_MEM_WINDOW_TYPE_2B), "memory windows of type 2B");
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	Arena arena(pd.get(), 4096, kAllAccess | IBV_ACCESS_MW_BIND);
	Mw mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
	require(mw != nullptr, "ibv_alloc_mw: %m");
	Link link(env.device, pd.get(), cq.get(), cq.get(), {});
	link.to_init();
	QpAddress peer = env.control.exchange(link.address());
	Remote there = env.control.exchange(arena.remote());
	if (env.client) {
		Work write{.opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = {arena.sge(0, 64)}};
		write.remote_va = there.va + 64;
		write.rkey = there.rkey;
		Work bind{.opcode = IBV_WR_BIND_MW, .id = 2, .mw = mw.get()};
		bind.new_rkey = ibv_inc_rkey(mw->rkey);
		bind.bind = {arena.mr(), arena.va(0), 64, IBV_ACCESS_REMOTE_READ};
		link.to_rtr(peer);
		link.to_rts();
		require(!try_post_list(link, {write, bind}), "posting the list");
		env.control.sync(); // lost
		cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
		for (write.id = 3; write.id < 6; write.id++) {
			post(link, write);
			cq.expect(IBV_WC_SUCCESS, write.id, env.limit_s);
		}
	} else {
		env.control.sync();
		link.to_rtr(peer);
		link.to_rts();
	}
	env.control.sync();
}

const Register cases([](Cases &list) {
	list.push_back({"remote/bind-behind-lost", bind_behind_lost});
});

} // namespace
} // namespace vt
