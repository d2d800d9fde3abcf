// SPDX-License-Identifier: GPL-2.0
// vexhaust: creates objects of one kind until that fails, or there are -m of them, prints how
// many and why it stopped, and keeps them until it is killed.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <unistd.h>

#include "device.h"
#include "heap.h"
#include "objects.h"
#include "options.h"

namespace {

// Creates one more, and keeps it. False: errno has the reason.
using Make = std::function<bool()>;

std::map<std::string, Make> kinds(ibv_context *context, ibv_pd *pd)
{
	ibv_cq *cq = ibv_create_cq(context, 1, nullptr, nullptr, 0);
	vt::require(cq, "a CQ for the QPs: %m");
	auto make_qp = [=](uint32_t wr) {
		ibv_qp_init_attr attr = {};
		attr.send_cq = attr.recv_cq = cq;
		attr.cap = {wr, wr, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		return ibv_create_qp(pd, &attr) != nullptr;
	};
	return {
		{"cq", [=] { return ibv_create_cq(context, 65536, nullptr, nullptr, 0); }},
		{"srq",
		 [=] {
			 ibv_srq_init_attr attr = {};
			 attr.attr.max_wr = 8192;
			 attr.attr.max_sge = 32;
			 return ibv_create_srq(pd, &attr) != nullptr;
		 }},
		{"qp", [=] { return make_qp(8192); }},
		{"small-qp", [=] { return make_qp(1); }},
		{"empty-mr", [=] { return ibv_reg_mr(pd, nullptr, 0, 0) != nullptr; }},
		{"dm",
		 [=] {
			 ibv_alloc_dm_attr attr = {size_t{1} << 20, 0, 0};
			 return ibv_alloc_dm(context, &attr) != nullptr;
		 }},
		{"mw", [=] { return ibv_alloc_mw(pd, IBV_MW_TYPE_1) != nullptr; }},
	};
}

} // namespace

int main(int argc, char **argv)
{
	vt::DeviceChoice choice;
	std::string kind = "cq";
	uint32_t most = 1;

	if (!vt::parse_options(argc, argv, {{'n', &choice.netdev}, {'m', &most}, {'k', &kind}})) {
		fprintf(stderr, "usage: vexhaust -n NETDEV -k KIND [-m MOST]\n");
		return 2;
	}
	try {
		// Reserve memory for libibverbs' part: only the kernel may run out of it.
		vt::grow_heap();
		vt::Device device(choice);
		vt::Pd pd = vt::make_pd(device.context());
		Make make = kinds(device.context(), pd.get()).at(kind);
		uint32_t made = 0;
		while (made < most && make())
			made++;
		printf("%u %s: %s\n", made, kind.c_str(), made < most ? strerror(errno) : "enough");
		fflush(stdout);
		pause();
	} catch (const std::exception &why) {
		fprintf(stderr, "vexhaust: %s\n", why.what());
		return 1;
	}
	return 0;
}
