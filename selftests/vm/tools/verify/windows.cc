// SPDX-License-Identifier: GPL-2.0
// Memory windows of type 1 and 2B: binding by verb and by work request, the access that they
// give, invalidation by their owner and by the peer's SEND_WITH_INV.
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr int kBindAccess = kAllAccess | IBV_ACCESS_MW_BIND;
constexpr unsigned kWindowAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// The server owns the region and the window, the client uses it.
struct WindowBench {
	WindowBench(Env &e, ibv_mw_type type, bool modern = false)
		: env(e), bench(e, options(modern), 65536),
		  target(bench.pd.get(), 16384, kBindAccess)
	{
		uint32_t cap = type == IBV_MW_TYPE_1 ? IBV_DEVICE_MEM_WINDOW :
						       IBV_DEVICE_MEM_WINDOW_TYPE_2B;
		env.both_need(env.device.can(cap), "memory windows of this type");
		mw.reset(ibv_alloc_mw(bench.pd.get(), type));
		if (!mw)
			refuse("ibv_alloc_mw", errno);
		target.fill_canary();
		pattern_fill(bench.arena.at(0), 4096, 5);
	}
	static LinkOptions options(bool modern)
	{
		LinkOptions o;
		o.modern = modern;
		return o;
	}

	// Owner: binds a window through a link by a work request; returns the new rkey.
	uint32_t bind_one(const Link &link, ibv_mw *window, const ibv_mw_bind_info &info,
			  ibv_wc_status status)
	{
		Work w{.opcode = IBV_WR_BIND_MW, .id = 1, .mw = window};
		w.new_rkey = ibv_inc_rkey(window->rkey);
		w.bind = info;
		int error = try_post(link, w);
		if (error)
			refuse("posting BIND_MW", error);
		Completion c = bench.cq.expect(status, 1, env.limit_s);
		if (status != IBV_WC_SUCCESS)
			return window->rkey;
		require(c.opcode == IBV_WC_BIND_MW, "BIND_MW completed with opcode %d", c.opcode);
		window->rkey = w.new_rkey;
		return w.new_rkey;
	}

	// The same with its own window and link, to bytes [offset, +length).
	uint32_t bind(uint64_t offset, uint64_t length, unsigned access = kWindowAccess)
	{
		return bind_one(bench.link, mw.get(),
				{target.mr(), target.va(offset), length, access}, IBV_WC_SUCCESS);
	}

	// Both sides: the rkey that bind() returns to the owner.
	uint32_t bound(uint64_t offset, uint64_t length, unsigned access = kWindowAccess)
	{
		uint32_t key = env.client ? 0 : bind(offset, length, access);
		uint32_t theirs = env.control.exchange(key);
		return env.client ? theirs : key;
	}

	// Client: a write or read of 100 bytes through a key.
	void use(ibv_wr_opcode opcode, uint64_t va, uint32_t rkey, ibv_wc_status status)
	{
		Work w{.opcode = opcode, .id = 2, .sges = {bench.arena.sge(0, 100)}};
		w.remote_va = va;
		w.rkey = rkey;
		post(bench.link, w);
		if (opcode == IBV_WR_RDMA_WRITE)
			expect_write(env, bench.link, bench.cq, 2, status);
		else
			bench.cq.expect(status, 2, env.limit_s);
	}

	Env &env;
	Bench bench;
	Arena target;
	Mw mw;
};

void type1(Env &env)
{
	WindowBench w(env, IBV_MW_TYPE_1);
	uint32_t key = 0;
	if (!env.client) {
		ibv_mw_bind bind = {};
		bind.wr_id = 3;
		bind.send_flags = IBV_SEND_SIGNALED;
		bind.bind_info = {w.target.mr(), w.target.va(4096), 4096, kWindowAccess};
		int error = ibv_bind_mw(w.bench.link.qp(), w.mw.get(), &bind);
		if (error)
			refuse("ibv_bind_mw", error);
		w.bench.cq.expect(IBV_WC_SUCCESS, 3, env.limit_s);
		key = w.mw->rkey;
	}
	key = env.control.exchange(key);
	uint64_t va = env.control.exchange(w.target.va(0));
	if (env.client) {
		w.use(IBV_WR_RDMA_WRITE, va + 4096, key, IBV_WC_SUCCESS);
		w.use(IBV_WR_RDMA_READ, va + 4196, key, IBV_WC_SUCCESS);
		// One byte before the window.
		w.use(IBV_WR_RDMA_WRITE, va + 4095, key, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
	if (!env.client) {
		require(pattern_check(w.target.at(4096), 100, 5) == 100, "data is wrong");
		require(w.target.check_canary(0, 4096) == 4096, "written outside the window");
	}
	env.control.sync();
}

void type2(Env &env, bool modern)
{
	WindowBench w(env, IBV_MW_TYPE_2, modern);
	uint32_t key = w.bound(4096, 4096);
	uint64_t va = env.control.exchange(w.target.va(0));
	if (env.client) {
		w.use(IBV_WR_RDMA_WRITE, va + 4096, key, IBV_WC_SUCCESS);
		w.use(IBV_WR_RDMA_WRITE, va + 8192 - 99, key, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
	if (!env.client) {
		require(pattern_check(w.target.at(4096), 100, 5) == 100, "data is wrong");
		require(w.target.check_canary(4196, 8192) == 8192, "written outside the window");
	}
	env.control.sync();
}

// The window's owner invalidates it: the key is dead at once.
void type2_local_inv(Env &env, bool modern)
{
	WindowBench w(env, IBV_MW_TYPE_2, modern);
	uint32_t key = w.bound(0, 4096);
	uint64_t va = env.control.exchange(w.target.va(0));
	if (env.client)
		w.use(IBV_WR_RDMA_WRITE, va, key, IBV_WC_SUCCESS);
	env.control.sync();
	if (!env.client) {
		Work inv{.opcode = IBV_WR_LOCAL_INV, .id = 4, .key = key};
		int error = try_post(w.bench.link, inv);
		if (error)
			refuse("posting LOCAL_INV", error);
		Completion c = w.bench.cq.expect(IBV_WC_SUCCESS, 4, env.limit_s);
		require(c.opcode == IBV_WC_LOCAL_INV, "LOCAL_INV completed with opcode %d",
			c.opcode);
	}
	env.control.sync();
	if (env.client)
		w.use(IBV_WR_RDMA_WRITE, va + 200, key, IBV_WC_REM_ACCESS_ERR);
	env.control.sync();
	if (!env.client)
		require(w.target.check_canary(200, 1000) == 1000, "written through a dead key");
	env.control.sync();
}

// The peer invalidates the window with its message. Then it may be bound again.
void type2_send_inv(Env &env, bool modern)
{
	WindowBench w(env, IBV_MW_TYPE_2, modern);
	uint32_t key = w.bound(0, 8192);
	uint64_t va = env.control.exchange(w.target.va(0));
	if (!env.client)
		post_recv(w.bench.link, 5, {w.bench.arena.sge(8192, 4096)});
	env.control.sync();
	if (env.client) {
		w.use(IBV_WR_RDMA_WRITE, va, key, IBV_WC_SUCCESS);
		Work send{.opcode = IBV_WR_SEND_WITH_INV,
			  .id = 6,
			  .sges = {w.bench.arena.sge(0, 3000)},
			  .key = key};
		post(w.bench.link, send);
		w.bench.cq.expect(IBV_WC_SUCCESS, 6, env.limit_s);
	} else {
		Completion c = w.bench.cq.expect(IBV_WC_SUCCESS, 5, env.limit_s);
		require(c.bytes == 3000 && pattern_check(w.bench.arena.at(8192), 3000, 5) == 3000,
			"the message is wrong");
		require((c.flags & IBV_WC_WITH_INV) && c.inv_rkey == key,
			"flags %#x, invalidated key %#x instead of %#x", c.flags, c.inv_rkey, key);
	}
	uint32_t again = w.bound(4096, 4096);
	if (env.client) {
		w.use(IBV_WR_RDMA_WRITE, va + 4096, again, IBV_WC_SUCCESS);
		w.use(IBV_WR_RDMA_WRITE, va + 4096, key, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
}

// 2B: a window belongs to the QP that bound it.
void type2_other_qp(Env &env)
{
	WindowBench w(env, IBV_MW_TYPE_2);
	Link other(env.device, w.bench.pd.get(), w.bench.cq.get(), w.bench.cq.get(), {});
	other.connect(env.control);
	uint32_t key = w.bound(0, 4096);
	uint64_t va = env.control.exchange(w.target.va(0));
	if (env.client) {
		Work write{
			.opcode = IBV_WR_RDMA_WRITE, .id = 7, .sges = {w.bench.arena.sge(0, 64)}};
		write.remote_va = va;
		write.rkey = key;
		post(other, write);
		expect_write(env, other, w.bench.cq, 7, IBV_WC_REM_ACCESS_ERR);
		w.use(IBV_WR_RDMA_WRITE, va, key, IBV_WC_SUCCESS);
	}
	env.control.sync();
}

// Windows bound through a QP are free once it is destroyed (IBTA 10.6.7), and no others: only
// a free window can be bound.
void type2_qp_destroyed(Env &env)
{
	constexpr int kWindows = 8;

	WindowBench w(env, IBV_MW_TYPE_2);
	Link other(env.device, w.bench.pd.get(), w.bench.cq.get(), w.bench.cq.get(), {});
	other.connect(env.control);
	ibv_mw_bind_info info = {w.target.mr(), w.target.va(0), 4096, kWindowAccess};
	std::vector<Mw> windows;
	for (int i = 0; i < kWindows; i++) {
		windows.emplace_back(ibv_alloc_mw(w.bench.pd.get(), IBV_MW_TYPE_2));
		require(windows[i] != nullptr, "ibv_alloc_mw: %m");
		w.bind_one(i % 2 ? other : w.bench.link, windows[i].get(), info, IBV_WC_SUCCESS);
	}
	// One window is deallocated before the QP.
	windows[3].reset();
	env.control.sync();
	other.destroy();
	for (int i : {1, 5, 7})
		w.bind_one(w.bench.link, windows[i].get(), info, IBV_WC_SUCCESS);
	// The error ends the QP, and over iWARP the peer's too.
	env.control.sync();
	if (env.client)
		w.bind_one(w.bench.link, windows[0].get(), info, IBV_WC_MW_BIND_ERR);
	env.control.sync();
}

// A window that grants reading only. The region's own flag does not change that.
void type2_rights(Env &env)
{
	WindowBench w(env, IBV_MW_TYPE_2);
	uint32_t key = w.bound(0, 4096, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE);
	uint64_t va = env.control.exchange(w.target.va(0));
	if (env.client) {
		w.use(IBV_WR_RDMA_READ, va, key, IBV_WC_SUCCESS);
		w.use(IBV_WR_RDMA_WRITE, va, key, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
}

// Windows first, then their region: no reference to it is left.
void mr_after_window(Env &env)
{
	WindowBench w(env, IBV_MW_TYPE_2);
	w.bind(0, 4096);
	w.mw.reset();
	w.target.deregister();
	env.control.sync();
}

// A bind to a region during a rereg binds to the old or the new region.
void bind_rereg(Env &env)
{
	constexpr uint32_t kBinds = 3000;
	WindowBench w(env, IBV_MW_TYPE_1);
	int error = 0;

	if (!env.client) {
		std::jthread registrar([&](const std::stop_token &stop) {
			while (!stop.stop_requested())
				// The rereg is refused while a window is bound.
				if (ibv_rereg_mr(w.target.mr(), IBV_REREG_MR_CHANGE_ACCESS,
						 w.bench.pd.get(), nullptr, 0, kBindAccess) &&
				    errno != EBUSY)
					error = errno;
		});
		for (uint32_t i = 0; i < kBinds; i++) {
			ibv_mw_bind bind = {};
			bind.wr_id = i;
			bind.send_flags = IBV_SEND_SIGNALED;
			// A window of 0 bytes is bound to nothing.
			bind.bind_info = {w.target.mr(), w.target.va(0), i % 2 ? 0 : 4096U,
					  kWindowAccess};
			int refused = ibv_bind_mw(w.bench.link.qp(), w.mw.get(), &bind);
			if (refused)
				refuse("ibv_bind_mw", refused);
			w.bench.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
		}
	}
	env.control.sync();
	require(!error || means_unsupported(error), "rereg: %s", strerror(error));
}

Register cases([](Cases &list) {
	list.push_back({"mw/type1", type1});
	list.push_back({"mw/type2", [](Env &env) { type2(env, false); }});
	list.push_back({"mw/type2-modern", [](Env &env) { type2(env, true); }});
	list.push_back({"mw/type2-local-inv", [](Env &env) { type2_local_inv(env, false); }});
	list.push_back({"mw/type2-local-inv-modern", [](Env &env) { type2_local_inv(env, true); }});
	list.push_back({"mw/type2-send-inv", [](Env &env) { type2_send_inv(env, false); }});
	list.push_back({"mw/type2-send-inv-modern", [](Env &env) { type2_send_inv(env, true); }});
	list.push_back({"mw/type2-other-qp", type2_other_qp});
	list.push_back({"mw/type2-qp-destroyed", type2_qp_destroyed});
	list.push_back({"mw/type2-rights", type2_rights});
	list.push_back({"mw/bind-rereg", bind_rereg});
	list.push_back({"mw/region-after-window", mr_after_window});
});

} // namespace
} // namespace vt
