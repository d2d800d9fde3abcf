// SPDX-License-Identifier: GPL-2.0
// Protection domains, thread domains and parent domains: their life, who keeps them in use, how
// many there are.
#include <functional>
#include <unistd.h>
#include <vector>

#include "conform.h"
#include "link.h"

namespace vt {
namespace {

using Td = std::unique_ptr<ibv_td, Destroyer<ibv_dealloc_td>>;

Td make_td(Bed &bed)
{
	ibv_td_init_attr attr = {};
	return made(Td(ibv_alloc_td(bed.context, &attr)), "ibv_alloc_td");
}

Pd try_parent(Bed &bed, ibv_pd *pd, ibv_td *td, uint32_t mask = 0)
{
	ibv_parent_domain_init_attr attr = {};
	attr.pd = pd;
	attr.td = td;
	attr.comp_mask = mask;
	return Pd(ibv_alloc_parent_domain(bed.context, &attr));
}

Pd make_parent(Bed &bed, ibv_td *td = nullptr)
{
	return made(try_parent(bed, bed.pd.get(), td), "ibv_alloc_parent_domain");
}

CONFORM(Pd, is_of_its_context)
{
	EXPECT_EQ(bed.pd->context, bed.context);
}

CONFORM(Pd, handles_differ)
{
	Pd other = make_pd(bed.context);
	EXPECT_NE(other->handle, bed.pd->handle);
}

CONFORM(Pd, is_freed)
{
	for (int i = 0; i < 100; i++) {
		ibv_pd *pd = ibv_alloc_pd(bed.context);
		ASSERT_NE(pd, nullptr);
		ASSERT_OK(ibv_dealloc_pd(pd));
	}
}

CONFORM(Pd, is_busy_with_a_region)
{
	Arena arena(bed.pd.get(), 4096);
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(Pd, is_busy_with_a_window)
{
	Mw mw = made(Mw(ibv_alloc_mw(bed.pd.get(), IBV_MW_TYPE_1)), "ibv_alloc_mw");
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(Pd, is_busy_with_a_qp)
{
	Cq cq(bed.device, {});
	Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), {});
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(Pd, is_busy_with_an_srq)
{
	ibv_srq_init_attr attr = {};
	attr.attr = {16, 1, 0};
	Srq srq = made(Srq(ibv_create_srq(bed.pd.get(), &attr)), "ibv_create_srq");
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(Pd, is_busy_with_a_null_region)
{
	Mr mr = made(Mr(ibv_alloc_null_mr(bed.pd.get())), "ibv_alloc_null_mr");
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(Pd, import_shares_it)
{
	ibv_context *other = ibv_import_device(dup(bed.context->cmd_fd));
	if (!other)
		refuse("ibv_import_device", errno);
	ibv_pd *pd = ibv_import_pd(other, bed.pd->handle);
	int why = errno;
	if (pd) {
		EXPECT_EQ(pd->handle, bed.pd->handle);
		{
			Arena arena(pd, 4096);
			EXPECT_NE(arena.lkey(), 0u);
		}
		ibv_unimport_pd(pd);
	}
	EXPECT_OK(ibv_close_device(other));
	if (!pd)
		refuse("ibv_import_pd", why);
}

// ---- thread domains ----

CONFORM(ThreadDomain, is_made_and_freed)
{
	Td td = make_td(bed);
	EXPECT_EQ(td->context, bed.context);
}

CONFORM(ThreadDomain, unknown_mask_is_refused)
{
	make_td(bed);
	ibv_td_init_attr attr = {kUnknownMask};
	EXPECT_ERR(refusal(Td(ibv_alloc_td(bed.context, &attr))), EINVAL);
}

CONFORM(ThreadDomain, is_busy_with_a_parent_domain)
{
	Td td = make_td(bed);
	Pd parent = make_parent(bed, td.get());
	EXPECT_ERR(ibv_dealloc_td(td.get()), EBUSY);
}

// ---- parent domains ----

CONFORM(ParentDomain, without_a_thread_domain)
{
	Pd parent = make_parent(bed);
	EXPECT_EQ(parent->context, bed.context);
}

CONFORM(ParentDomain, keeps_its_pd_busy)
{
	Pd parent = make_parent(bed);
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(ParentDomain, without_a_pd_is_refused)
{
	make_parent(bed);
	EXPECT_ERR(refusal(try_parent(bed, nullptr, nullptr)), EINVAL);
}

CONFORM(ParentDomain, of_a_parent_domain_is_refused)
{
	Pd parent = make_parent(bed);
	EXPECT_ERR(refusal(try_parent(bed, parent.get(), nullptr)), EINVAL);
}

CONFORM(ParentDomain, unknown_mask_is_refused)
{
	make_parent(bed);
	int error = refusal(try_parent(bed, bed.pd.get(), nullptr, kUnknownMask));
	EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
}

CONFORM(ParentDomain, with_allocators)
{
	make_parent(bed);
	ibv_parent_domain_init_attr attr = {};
	attr.pd = bed.pd.get();
	attr.comp_mask =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	attr.alloc = [](ibv_pd *, void *, size_t, size_t, uint64_t) {
		return IBV_ALLOCATOR_USE_DEFAULT;
	};
	attr.free = [](ibv_pd *, void *, void *, uint64_t) {};
	Pd parent =
		made(Pd(ibv_alloc_parent_domain(bed.context, &attr)), "ibv_alloc_parent_domain");
	Cq cq(bed.device, {});
	Link link(bed.device, parent.get(), cq.get(), cq.get(), {});
}

CONFORM(ParentDomain, serves_regions_and_qps)
{
	Td td = make_td(bed);
	Pd parent = make_parent(bed, td.get());
	Arena arena(parent.get(), 4096);
	Cq cq(bed.device, {});
	Link link(bed.device, parent.get(), cq.get(), cq.get(), {});
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(ParentDomain, serves_a_cq)
{
	Td td = make_td(bed);
	Pd parent = make_parent(bed, td.get());
	ibv_cq_init_attr_ex attr = {};
	attr.cqe = 16;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	attr.parent_domain = parent.get();
	ibv_cq_ex *cq = ibv_create_cq_ex(bed.context, &attr);
	if (!cq)
		refuse("ibv_create_cq_ex", errno);
	EXPECT_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

} // namespace
} // namespace vt
