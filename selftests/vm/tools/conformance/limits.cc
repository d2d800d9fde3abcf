// SPDX-License-Identifier: GPL-2.0
// See limits.h.
#include "limits.h"

#include <fstream>

namespace vt {
namespace {

// A number of /proc: the one behind the name, or the only one.
size_t number_in(const char *path, const char *name = nullptr)
{
	std::ifstream file(path);
	std::string word;
	size_t number = 0;
	while (name && file >> word && word != name)
		continue;
	file >> number;
	require(!file.fail(), "%s cannot be read", path);
	return number;
}

using CqOwner = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;

CONFORM(Limits, max_pd_and_one_more)
{
	expect_limit(bed.device.attr().max_pd, {.bytes = 1024},
		     [&bed] { return Pd(ibv_alloc_pd(bed.context)); });
}

CONFORM(Limits, max_cq_and_one_more)
{
	expect_limit(bed.device.attr().max_cq, {.bytes = 8192, .maps = 1}, [&bed] {
		return CqOwner(ibv_create_cq(bed.context, 1, nullptr, nullptr, 0));
	});
}

CONFORM(Limits, max_srq_and_one_more)
{
	expect_limit(bed.device.attr().max_srq, {.bytes = 8192, .maps = 1}, [&bed] {
		ibv_srq_init_attr attr = {};
		attr.attr = {1, 1, 0};
		return Srq(ibv_create_srq(bed.pd.get(), &attr));
	});
}

CONFORM(Limits, max_qp_and_one_more)
{
	CqOwner cq(ibv_create_cq(bed.context, 1, nullptr, nullptr, 0));
	expect_limit(bed.device.attr().max_qp, {.bytes = 32768, .maps = 2}, [&bed, &cq] {
		ibv_qp_init_attr attr = {};
		attr.send_cq = attr.recv_cq = cq.get();
		attr.cap = {1, 1, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		return QpOwner(ibv_create_qp(bed.pd.get(), &attr));
	});
}

// Of nothing: no page is pinned.
CONFORM(Limits, max_mr_and_one_more)
{
	made(Mr(ibv_alloc_null_mr(bed.pd.get())), "ibv_alloc_null_mr");
	expect_limit(bed.device.attr().max_mr, {.bytes = 1536},
		     [&bed] { return Mr(ibv_alloc_null_mr(bed.pd.get())); });
}

CONFORM(Limits, max_mw_and_one_more)
{
	made(Mw(ibv_alloc_mw(bed.pd.get(), IBV_MW_TYPE_2)), "ibv_alloc_mw");
	expect_limit(bed.device.attr().max_mw, {.bytes = 1024},
		     [&bed] { return Mw(ibv_alloc_mw(bed.pd.get(), IBV_MW_TYPE_2)); });
}

} // namespace

void need_room(int limit, const Cost &each)
{
	auto count = static_cast<size_t>(limit);
	size_t kib = number_in("/proc/meminfo", "MemAvailable:");
	if (count * each.bytes / 1024 > kib)
		skip("%d objects of %zu bytes: not on this machine", limit, each.bytes);
	if (count * each.maps > number_in("/proc/sys/vm/max_map_count") - 1024)
		skip("%d objects in vm.max_map_count: not on this machine", limit);
}

} // namespace vt
