// SPDX-License-Identifier: GPL-2.0
// Memory windows: allocation, binding by verb (type 1) and by work request (type 2), what a bind is
// refused for, and how windows end.
#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

constexpr unsigned kBoth = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int kBindable = kAllAccess | IBV_ACCESS_MW_BIND;

Mw make_mw(Bed &bed, ibv_mw_type type)
{
	return made(Mw(ibv_alloc_mw(bed.pd.get(), type)), "ibv_alloc_mw");
}

CONFORM(AllocMw, type_1)
{
	Mw mw = make_mw(bed, IBV_MW_TYPE_1);
	EXPECT_EQ(mw->type, IBV_MW_TYPE_1);
	EXPECT_NE(mw->rkey, 0u);
}

CONFORM(AllocMw, type_2)
{
	Mw mw = make_mw(bed, IBV_MW_TYPE_2);
	EXPECT_EQ(mw->type, IBV_MW_TYPE_2);
}

CONFORM(AllocMw, unknown_type_is_refused)
{
	make_mw(bed, IBV_MW_TYPE_1);
	EXPECT_ERR(refusal(Mw(ibv_alloc_mw(bed.pd.get(), static_cast<ibv_mw_type>(3)))), EINVAL);
}

// far owns region and window; near uses it.
struct Window {
	Window(Bed &bed, ibv_mw_type t, int region_access = kBindable)
		: type(t), pair(bed), region(bed.pd.get(), 8192, region_access), mw(make_mw(bed, t))
	{}

	ibv_mw_bind_info info(uint64_t offset = 0, uint64_t length = 4096, unsigned access = kBoth)
	{
		return {region.mr(), region.va(offset), length, access};
	}

	// 0 or the error of posting.
	int try_bind(const ibv_mw_bind_info &bind_info)
	{
		if (type == IBV_MW_TYPE_1) {
			ibv_mw_bind bind = {20, IBV_SEND_SIGNALED, bind_info};
			return ibv_bind_mw(pair.far.qp(), mw.get(), &bind);
		}
		Work w{.opcode = IBV_WR_BIND_MW, .id = 20, .mw = mw.get()};
		w.new_rkey = ibv_inc_rkey(mw->rkey);
		w.bind = bind_info;
		return try_post(pair.far, w);
	}

	void bind(const ibv_mw_bind_info &bind_info, ibv_wc_status status = IBV_WC_SUCCESS)
	{
		uint32_t next = ibv_inc_rkey(mw->rkey);
		need_ok(try_bind(bind_info), "binding");
		Completion c = pair.far_cq.expect(status, 20);
		if (status == IBV_WC_SUCCESS) {
			EXPECT_EQ(c.opcode, IBV_WC_BIND_MW);
			EXPECT_EQ(mw->rkey >> 8, next >> 8);
			if (type == IBV_MW_TYPE_2)
				mw->rkey = next;
		}
	}

	// It may be refused when it is posted, or fail.
	void bind_fails(const ibv_mw_bind_info &bind_info)
	{
		int error = try_bind(bind_info);
		if (means_unsupported(error))
			refuse("binding", error);
		if (!error)
			pair.far_cq.expect(IBV_WC_MW_BIND_ERR, 20);
	}

	// READ: so its end tells, over iWARP too.
	void use(uint64_t va, ibv_wc_status status, uint64_t id = 2)
	{
		Work w = pair.work(IBV_WR_RDMA_READ, id);
		w.remote_va = va;
		w.rkey = mw->rkey;
		pair.ends(w, status);
	}

	ibv_mw_type type;
	Pair pair;
	Arena region;
	Mw mw;
};

// The same for both types.
void add_both(const char *what, void (*run)(Window &))
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2})
		add_case(type == IBV_MW_TYPE_1 ? "BindMw1" : "BindMw2", what,
			 [type, run](Bed &bed) {
				 Window window(bed, type);
				 run(window);
			 });
}

const Added both([] {
	add_both("gives_its_rights", [](Window &w) {
		w.bind(w.info());
		w.use(w.region.va(0), IBV_WC_SUCCESS);
		w.use(w.region.va(4096 - 64), IBV_WC_SUCCESS, 3);
	});
	add_both("has_bounds", [](Window &w) {
		w.bind(w.info());
		w.use(w.region.va(4096 - 63), IBV_WC_REM_ACCESS_ERR);
	});
	add_both("begins_where_it_is_bound", [](Window &w) {
		w.bind(w.info(4096));
		w.use(w.region.va(4095), IBV_WC_REM_ACCESS_ERR);
	});
	add_both("gives_no_right_that_was_not_asked_for", [](Window &w) {
		w.bind(w.info(0, 4096, IBV_ACCESS_REMOTE_WRITE));
		w.use(w.region.va(0), IBV_WC_REM_ACCESS_ERR);
	});
	add_both("old_key_is_dead", [](Window &w) {
		uint32_t old = w.mw->rkey;
		w.bind(w.info());
		Work work = w.pair.work(IBV_WR_RDMA_READ);
		work.remote_va = w.region.va(0);
		work.rkey = old;
		w.pair.ends(work, IBV_WC_REM_ACCESS_ERR);
	});
	add_both("beyond_the_region_fails", [](Window &w) { w.bind_fails(w.info(4097, 4096)); });
	add_both("region_is_busy", [](Window &w) {
		w.bind(w.info());
		EXPECT_ERR(ibv_dereg_mr(w.region.mr()), EBUSY);
	});
	add_both("unbound_window_gives_nothing",
		 [](Window &w) { w.use(w.region.va(0), IBV_WC_REM_ACCESS_ERR); });
	add_both("freed_window_gives_nothing", [](Window &w) {
		w.bind(w.info());
		Work work = w.pair.work(IBV_WR_RDMA_READ);
		work.remote_va = w.region.va(0);
		work.rkey = w.mw->rkey;
		w.mw.reset();
		w.pair.ends(work, IBV_WC_REM_ACCESS_ERR);
	});
});

CONFORM(BindMw1, region_without_MW_BIND_fails)
{
	Window w(bed, IBV_MW_TYPE_1, kAllAccess);
	w.bind_fails(w.info());
}

CONFORM(BindMw2, region_without_MW_BIND_fails)
{
	Window w(bed, IBV_MW_TYPE_2, kAllAccess);
	w.bind_fails(w.info());
}

CONFORM(BindMw1, to_write_a_region_without_LOCAL_WRITE_fails)
{
	Window w(bed, IBV_MW_TYPE_1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	w.bind_fails(w.info());
}

CONFORM(BindMw1, again_moves_it)
{
	Window w(bed, IBV_MW_TYPE_1);
	w.bind(w.info());
	w.bind(w.info(4096));
	w.use(w.region.va(4096), IBV_WC_SUCCESS);
	w.use(w.region.va(0), IBV_WC_REM_ACCESS_ERR, 3);
}

CONFORM(BindMw1, of_no_bytes_unbinds)
{
	Window w(bed, IBV_MW_TYPE_1);
	w.bind(w.info());
	w.bind({nullptr, 0, 0, 0});
	w.use(w.region.va(0), IBV_WC_REM_ACCESS_ERR);
}

CONFORM(BindMw1, of_a_type_2_window_is_refused)
{
	Window w(bed, IBV_MW_TYPE_2);
	ibv_mw_bind bind = {20, IBV_SEND_SIGNALED, w.info()};
	int error = ibv_bind_mw(w.pair.far.qp(), w.mw.get(), &bind);
	if (means_unsupported(error))
		refuse("ibv_bind_mw", error);
	EXPECT_ERR(error, EINVAL);
}

CONFORM(BindMw1, region_of_another_pd_is_refused)
{
	Window w(bed, IBV_MW_TYPE_1);
	Pd pd = make_pd(bed.context);
	Arena other(pd.get(), 4096, kBindable);
	w.bind_fails({other.mr(), other.va(0), 4096, kBoth});
}

CONFORM(BindMw2, of_a_type_1_window_is_refused)
{
	Window w(bed, IBV_MW_TYPE_1);
	Work work{.opcode = IBV_WR_BIND_MW, .id = 20, .mw = w.mw.get()};
	work.new_rkey = ibv_inc_rkey(w.mw->rkey);
	work.bind = w.info();
	EXPECT_ERR(try_post(w.pair.far, work), EINVAL);
}

CONFORM(BindMw2, again_fails)
{
	Window w(bed, IBV_MW_TYPE_2);
	w.bind(w.info());
	w.bind_fails(w.info(4096));
}

CONFORM(BindMw2, of_no_bytes_fails)
{
	Window w(bed, IBV_MW_TYPE_2);
	w.bind_fails(w.info(0, 0));
}

CONFORM(BindMw2, zero_based)
{
	Window w(bed, IBV_MW_TYPE_2);
	w.bind(w.info(4096, 4096, kBoth | IBV_ACCESS_ZERO_BASED));
	w.use(0, IBV_WC_SUCCESS);
	w.use(4096, IBV_WC_REM_ACCESS_ERR, 3);
}

CONFORM(BindMw2, is_for_the_qp_that_bound_it)
{
	Window w(bed, IBV_MW_TYPE_2);
	Pair stranger(bed);
	w.bind(w.info());
	Work work = stranger.work(IBV_WR_RDMA_READ);
	work.remote_va = w.region.va(0);
	work.rkey = w.mw->rkey;
	stranger.ends(work, IBV_WC_REM_ACCESS_ERR);
}

CONFORM(BindMw2, invalidated_by_its_owner)
{
	Window w(bed, IBV_MW_TYPE_2);
	w.bind(w.info());
	Work invalidate{.opcode = IBV_WR_LOCAL_INV, .id = 21, .key = w.mw->rkey};
	post(w.pair.far, invalidate);
	EXPECT_EQ(w.pair.far_cq.expect(IBV_WC_SUCCESS, 21).opcode, IBV_WC_LOCAL_INV);
	w.use(w.region.va(0), IBV_WC_REM_ACCESS_ERR);
}

CONFORM(BindMw2, invalidated_by_the_peer)
{
	Window w(bed, IBV_MW_TYPE_2);
	w.bind(w.info());
	w.pair.receive();
	Work send = w.pair.work(IBV_WR_SEND_WITH_INV);
	send.key = w.mw->rkey;
	w.pair.ends(send, IBV_WC_SUCCESS);
	Completion c = w.pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	EXPECT_TRUE(c.flags & IBV_WC_WITH_INV);
	EXPECT_EQ(c.inv_rkey, w.mw->rkey);
	w.use(w.region.va(0), IBV_WC_REM_ACCESS_ERR);
}

CONFORM(BindMw2, bound_again_when_it_is_free)
{
	Window w(bed, IBV_MW_TYPE_2);
	w.bind(w.info());
	Work invalidate{.opcode = IBV_WR_LOCAL_INV, .id = 21, .key = w.mw->rkey};
	post(w.pair.far, invalidate);
	w.pair.far_cq.expect(IBV_WC_SUCCESS, 21);
	w.bind(w.info(4096));
	w.use(w.region.va(4096), IBV_WC_SUCCESS);
}

} // namespace
} // namespace vt
