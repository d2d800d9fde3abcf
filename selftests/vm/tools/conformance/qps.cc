// SPDX-License-Identifier: GPL-2.0
// Creation of QPs: each type, each limit and one more, the operations of ibv_wr_*, and what a query
// says afterwards.
#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

// What a QP is created of; a case changes it.
struct Recipe {
	Recipe(Bed &b, ibv_qp_type type) : bed(b), cq(b.device, {})
	{
		attr.send_cq = attr.recv_cq = cq.get();
		attr.cap = {8, 8, 1, 1, 0};
		attr.qp_type = type;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr.pd = b.pd.get();
	}
	QpOwner create() { return QpOwner(ibv_create_qp_ex(bed.context, &attr)); }
	int error() { return refusal(create()); }
	// Skips the case if there is no such QP.
	QpOwner need() { return made(create(), "ibv_create_qp_ex"); }

	Bed &bed;
	Cq cq;
	ibv_qp_init_attr_ex attr = {};
};

// Of each type that the device has. The recipe is good.
struct Requirement {
	const char *name;
	void (*check)(Recipe &);
};

uint32_t max_wr(const Recipe &recipe)
{
	return static_cast<uint32_t>(recipe.bed.device.attr().max_qp_wr);
}

uint32_t max_sge(const Recipe &recipe)
{
	return static_cast<uint32_t>(recipe.bed.device.attr().max_sge);
}

const Requirement kRequirements[] = {
	{"gives_at_least_what_was_asked_for",
	 [](Recipe &r) {
		 r.attr.cap = {5, 6, 2, 3, 16};
		 QpOwner qp = r.need();
		 EXPECT_GE(r.attr.cap.max_send_wr, 5u);
		 EXPECT_GE(r.attr.cap.max_recv_wr, 6u);
		 EXPECT_GE(r.attr.cap.max_send_sge, 2u);
		 EXPECT_GE(r.attr.cap.max_recv_sge, 3u);
		 EXPECT_GE(r.attr.cap.max_inline_data, 16u);
	 }},
	{"query_shows_what_was_given",
	 [](Recipe &r) {
		 r.attr.cap = {5, 6, 2, 3, 16};
		 QpOwner qp = r.need();
		 ibv_qp_attr attr = {};
		 ibv_qp_init_attr init = {};
		 ASSERT_OK(ibv_query_qp(qp.get(), &attr, IBV_QP_CAP | IBV_QP_STATE, &init));
		 EXPECT_EQ(init.cap.max_send_wr, r.attr.cap.max_send_wr);
		 EXPECT_EQ(init.cap.max_recv_wr, r.attr.cap.max_recv_wr);
		 EXPECT_EQ(init.cap.max_send_sge, r.attr.cap.max_send_sge);
		 EXPECT_EQ(init.cap.max_recv_sge, r.attr.cap.max_recv_sge);
		 EXPECT_EQ(init.cap.max_inline_data, r.attr.cap.max_inline_data);
		 EXPECT_EQ(init.qp_type, qp->qp_type);
		 EXPECT_EQ(init.send_cq, r.cq.get());
		 EXPECT_EQ(init.recv_cq, r.cq.get());
	 }},
	{"begins_in_RESET",
	 [](Recipe &r) {
		 QpOwner qp = r.need();
		 EXPECT_EQ(qp->state, IBV_QPS_RESET);
	 }},
	{"numbers_differ",
	 [](Recipe &r) {
		 QpOwner one = r.need(), two = r.need();
		 EXPECT_NE(one->qp_num, two->qp_num);
		 EXPECT_EQ(one->qp_num >> 24, 0u);
		 EXPECT_GT(one->qp_num, 1u);
	 }},
	{"max_send_wr_of_the_limit",
	 [](Recipe &r) {
		 r.attr.cap.max_send_wr = max_wr(r);
		 EXPECT_ERR(r.error(), 0);
	 }},
	{"max_send_wr_of_one_more_is_refused",
	 [](Recipe &r) {
		 r.attr.cap.max_send_wr = max_wr(r) + 1;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"max_recv_wr_of_the_limit",
	 [](Recipe &r) {
		 r.attr.cap.max_recv_wr = max_wr(r);
		 EXPECT_ERR(r.error(), 0);
	 }},
	{"max_recv_wr_of_one_more_is_refused",
	 [](Recipe &r) {
		 r.attr.cap.max_recv_wr = max_wr(r) + 1;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"max_send_sge_of_the_limit",
	 [](Recipe &r) {
		 r.attr.cap.max_send_sge = max_sge(r);
		 EXPECT_ERR(r.error(), 0);
	 }},
	{"max_send_sge_of_one_more_is_refused",
	 [](Recipe &r) {
		 r.attr.cap.max_send_sge = max_sge(r) + 1;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"max_recv_sge_of_the_limit",
	 [](Recipe &r) {
		 r.attr.cap.max_recv_sge = max_sge(r);
		 EXPECT_ERR(r.error(), 0);
	 }},
	{"max_recv_sge_of_one_more_is_refused",
	 [](Recipe &r) {
		 r.attr.cap.max_recv_sge = max_sge(r) + 1;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"max_inline_data_of_1_MiB_is_refused",
	 [](Recipe &r) {
		 r.attr.cap.max_inline_data = 1 << 20;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"without_queues",
	 [](Recipe &r) {
		 r.attr.cap = {0, 0, 0, 0, 0};
		 EXPECT_ERR(r.error(), 0);
	 }},
	{"without_a_send_cq_is_refused",
	 [](Recipe &r) {
		 r.attr.send_cq = nullptr;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"without_a_recv_cq_is_refused",
	 [](Recipe &r) {
		 r.attr.recv_cq = nullptr;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"with_an_srq",
	 [](Recipe &r) {
		 ibv_srq_init_attr attr = {};
		 attr.attr = {16, 1, 0};
		 Srq srq = made(Srq(ibv_create_srq(r.bed.pd.get(), &attr)), "ibv_create_srq");
		 r.attr.srq = srq.get();
		 QpOwner qp = r.need();
		 EXPECT_EQ(qp->srq, srq.get());
	 }},
	{"signals_all_if_asked_to",
	 [](Recipe &r) {
		 r.attr.sq_sig_all = 1;
		 QpOwner qp = r.need();
		 ibv_qp_attr attr = {};
		 ibv_qp_init_attr init = {};
		 ASSERT_OK(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE, &init));
		 EXPECT_EQ(init.sq_sig_all, 1);
	 }},
	{"unknown_mask_is_refused",
	 [](Recipe &r) {
		 r.attr.comp_mask |= kUnknownMask;
		 int error = r.error();
		 EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
	 }},
	{"unknown_create_flag_is_refused",
	 [](Recipe &r) {
		 r.attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		 r.attr.create_flags = 1u << 30;
		 int error = r.error();
		 EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
	 }},
	{"unknown_send_op_is_refused",
	 [](Recipe &r) {
		 r.attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		 r.attr.send_ops_flags = 1ull << 40;
		 int error = r.error();
		 EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
	 }},
	{"without_a_pd_is_refused",
	 [](Recipe &r) {
		 r.attr.comp_mask = 0;
		 EXPECT_ERR(r.error(), EINVAL);
	 }},
	{"has_no_ex_interface_unless_asked_for",
	 [](Recipe &r) {
		 QpOwner qp = r.need();
		 EXPECT_EQ(ibv_qp_to_qp_ex(qp.get()), nullptr);
	 }},
	{"classic_creation",
	 [](Recipe &r) {
		 ibv_qp_init_attr attr = {};
		 attr.send_cq = attr.recv_cq = r.cq.get();
		 attr.cap = {8, 8, 1, 1, 0};
		 attr.qp_type = r.attr.qp_type;
		 EXPECT_ERR(refusal(QpOwner(ibv_create_qp(r.bed.pd.get(), &attr))), 0);
		 EXPECT_GE(attr.cap.max_send_wr, 8u);
	 }},
};

const Added requirements([] {
	for (const Requirement &requirement : kRequirements)
		for (const QpType &type : kPlainTypes)
			add_case("CreateQp", std::string(type.name) + "_" + requirement.name,
				 [&requirement, type](Bed &bed) {
					 Recipe recipe(bed, type.type);
					 recipe.need();
					 requirement.check(recipe);
				 });
});

CONFORM(CreateQp, unknown_type_is_refused)
{
	Recipe r(bed, static_cast<ibv_qp_type>(77));
	int error = r.error();
	EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
}

CONFORM(CreateQp, datagrams_over_iWARP_are_refused)
{
	if (!bed.device.is_iwarp())
		return;
	EXPECT_ERR(Recipe(bed, IBV_QPT_UD).error(), EOPNOTSUPP);
	EXPECT_ERR(Recipe(bed, IBV_QPT_UC).error(), EOPNOTSUPP);
}

// ---- send_ops_flags ----

struct Operation {
	const char *name;
	uint64_t flag;
	bool rc, uc, ud, iwarp; // who has it
};

constexpr Operation kOperations[] = {
	{"RDMA_WRITE", IBV_QP_EX_WITH_RDMA_WRITE, true, true, false, true},
	{"RDMA_WRITE_WITH_IMM", IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, true, true, false, true},
	{"SEND", IBV_QP_EX_WITH_SEND, true, true, true, true},
	{"SEND_WITH_IMM", IBV_QP_EX_WITH_SEND_WITH_IMM, true, true, true, false},
	{"RDMA_READ", IBV_QP_EX_WITH_RDMA_READ, true, false, false, true},
	{"ATOMIC_CMP_AND_SWP", IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, true, false, false, true},
	{"ATOMIC_FETCH_AND_ADD", IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, true, false, false, true},
	{"LOCAL_INV", IBV_QP_EX_WITH_LOCAL_INV, true, true, false, true},
	{"BIND_MW", IBV_QP_EX_WITH_BIND_MW, true, true, false, true},
	{"SEND_WITH_INV", IBV_QP_EX_WITH_SEND_WITH_INV, true, false, false, true},
	{"TSO", IBV_QP_EX_WITH_TSO, false, false, false, false},
	{"FLUSH", kWithFlush, true, false, false, false},
	{"ATOMIC_WRITE", kWithAtomicWrite, true, false, false, false},
};

bool has(const Operation &op, ibv_qp_type type, bool iwarp)
{
	if (iwarp)
		return op.iwarp;
	return type == IBV_QPT_RC ? op.rc : type == IBV_QPT_UC ? op.uc : op.ud;
}

void create_with(Bed &bed, ibv_qp_type type, const Operation &op)
{
	Recipe r(bed, type);
	r.need();
	r.attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	r.attr.send_ops_flags = op.flag;
	if (!has(op, type, bed.device.is_iwarp())) {
		int error = r.error();
		EXPECT_TRUE(error == EOPNOTSUPP || error == EINVAL) << Errno{error};
		return;
	}
	if (op.flag == kWithFlush || op.flag == kWithAtomicWrite)
		bed.need_placement(op.flag);
	QpOwner qp = r.need();
	EXPECT_NE(ibv_qp_to_qp_ex(qp.get()), nullptr);
}

const Added operations([] {
	for (const QpType &type : kPlainTypes)
		for (const Operation &op : kOperations)
			add_case("SendOps", std::string(type.name) + "_" + op.name,
				 [type, op](Bed &bed) { create_with(bed, type.type, op); });
});

} // namespace
} // namespace vt
