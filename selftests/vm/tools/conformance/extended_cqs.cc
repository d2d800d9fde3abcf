// SPDX-License-Identifier: GPL-2.0
// Extended completion queues: each field, each flag, and polling step by step.
#include <arpa/inet.h>
#include <unistd.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

struct ExDestroyer {
	void operator()(ibv_cq_ex *cq) const
	{
		int error = ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
		if (error)
			note_teardown_failure("ibv_destroy_cq", error);
	}
};
using CqEx = std::unique_ptr<ibv_cq_ex, ExDestroyer>;

CqEx try_ex(Bed &bed, uint64_t wc_flags, uint32_t flags = 0, uint32_t mask = 0)
{
	ibv_cq_init_attr_ex attr = {};
	attr.cqe = 64;
	attr.wc_flags = wc_flags;
	attr.flags = flags;
	attr.comp_mask = mask;
	if (flags)
		attr.comp_mask |= IBV_CQ_INIT_ATTR_MASK_FLAGS;
	return CqEx(ibv_create_cq_ex(bed.context, &attr));
}

CqEx make_ex(Bed &bed, uint64_t wc_flags, uint32_t flags = 0)
{
	return made(try_ex(bed, wc_flags, flags), "ibv_create_cq_ex");
}

struct Field {
	const char *name;
	uint64_t flag;
};

constexpr Field kFields[] = {
	{"BYTE_LEN", IBV_WC_EX_WITH_BYTE_LEN},
	{"IMM", IBV_WC_EX_WITH_IMM},
	{"QP_NUM", IBV_WC_EX_WITH_QP_NUM},
	{"SRC_QP", IBV_WC_EX_WITH_SRC_QP},
	{"SLID", IBV_WC_EX_WITH_SLID},
	{"SL", IBV_WC_EX_WITH_SL},
	{"DLID_PATH_BITS", IBV_WC_EX_WITH_DLID_PATH_BITS},
	{"COMPLETION_TIMESTAMP", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP},
	{"COMPLETION_TIMESTAMP_WALLCLOCK", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK},
};

const Added fields([] {
	for (const Field &field : kFields)
		add_case("CqEx", std::string("with_") + field.name,
			 [field](Bed &bed) { make_ex(bed, field.flag); });
	add_case("CqEx", "with_all_standard_fields",
		 [](Bed &bed) { make_ex(bed, IBV_WC_STANDARD_FLAGS); });
	struct {
		const char *name;
		uint32_t flag;
	} flags[] = {{"SINGLE_THREADED", IBV_CREATE_CQ_ATTR_SINGLE_THREADED},
		     {"IGNORE_OVERRUN", IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}};
	for (const auto &row : flags)
		add_case("CqEx", std::string("flag_") + row.name,
			 [row](Bed &bed) { make_ex(bed, 0, row.flag); });
});

CONFORM(CqEx, unknown_field_is_refused)
{
	make_ex(bed, 0);
	EXPECT_NE(refusal(try_ex(bed, 1ull << 40)), 0);
}

CONFORM(CqEx, unknown_flag_is_refused)
{
	make_ex(bed, 0);
	EXPECT_NE(refusal(try_ex(bed, 0, 1u << 20)), 0);
}

CONFORM(CqEx, unknown_mask_is_refused)
{
	make_ex(bed, 0);
	EXPECT_NE(refusal(try_ex(bed, 0, 0, kUnknownMask)), 0);
}

CONFORM(CqEx, of_one_more_than_the_limit_is_refused)
{
	make_ex(bed, 0);
	ibv_cq_init_attr_ex attr = {};
	attr.cqe = static_cast<uint32_t>(bed.device.attr().max_cqe) + 1;
	EXPECT_ERR(refusal(CqEx(ibv_create_cq_ex(bed.context, &attr))), EINVAL);
}

CONFORM(CqEx, vector_beyond_the_last_is_refused)
{
	make_ex(bed, 0);
	ibv_cq_init_attr_ex attr = {};
	attr.cqe = 16;
	attr.comp_vector = static_cast<uint32_t>(bed.context->num_comp_vectors);
	EXPECT_ERR(refusal(CqEx(ibv_create_cq_ex(bed.context, &attr))), EINVAL);
}

// ---- polling ----

CONFORM(StartPoll, of_an_empty_cq_is_ENOENT)
{
	CqEx cq = make_ex(bed, 0);
	ibv_poll_cq_attr attr = {};
	EXPECT_ERR(ibv_start_poll(cq.get(), &attr), ENOENT);
}

CONFORM(StartPoll, unknown_mask_is_refused)
{
	CqEx cq = make_ex(bed, 0);
	ibv_poll_cq_attr attr = {kUnknownMask};
	EXPECT_ERR(ibv_start_poll(cq.get(), &attr), EINVAL);
}

// A pair whose far end completes to an extended CQ with all that the device knows of time.
struct ExPair {
	explicit ExPair(Bed &bed, uint64_t wc_flags = IBV_WC_STANDARD_FLAGS)
		: pair(bed), ex(make_ex(bed, wc_flags)),
		  near(bed.device, bed.pd.get(), pair.near_cq.get(), pair.near_cq.get(),
		       impatient_link()),
		  far(bed.device, bed.pd.get(), pair.far_cq.get(), ibv_cq_ex_to_cq(ex.get()),
		      impatient_link()),
		  connection(bed, near, far)
	{}
	void send(ibv_wr_opcode opcode, uint64_t id)
	{
		post_recv(far, id, {pair.far_mem.sge(0, 4096)});
		post(near, pair.work(opcode, 1));
		pair.near_cq.expect(IBV_WC_SUCCESS, 1);
	}
	void start()
	{
		ibv_poll_cq_attr attr = {};
		int error = ENOENT;
		for (double until = now_s() + 10 * slow(); error == ENOENT && now_s() < until;)
			error = ibv_start_poll(ex.get(), &attr);
		require(!error, "ibv_start_poll: %d", error);
	}

	Pair pair;
	CqEx ex;
	Link near, far;
	Connection connection;
};

CONFORM(PollEx, every_field_of_a_receive)
{
	ExPair p(bed);
	ibv_wr_opcode opcode = bed.device.send_with_imm();
	p.send(opcode, 7);
	p.start();
	EXPECT_EQ(p.ex->wr_id, 7u);
	EXPECT_EQ(p.ex->status, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_wc_read_opcode(p.ex.get()), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_byte_len(p.ex.get()), 64u);
	EXPECT_EQ(ibv_wc_read_qp_num(p.ex.get()), p.far.qp()->qp_num);
	EXPECT_EQ(ibv_wc_read_vendor_err(p.ex.get()), 0u);
	unsigned flags = ibv_wc_read_wc_flags(p.ex.get());
	EXPECT_EQ(flags & IBV_WC_WITH_IMM ? 1 : 0, opcode == IBV_WR_SEND_WITH_IMM);
	if (flags & IBV_WC_WITH_IMM) {
		EXPECT_EQ(ntohl(ibv_wc_read_imm_data(p.ex.get())), 0x12345678u);
	}
	EXPECT_EQ(ibv_wc_read_slid(p.ex.get()), 0u);
	EXPECT_EQ(ibv_wc_read_dlid_path_bits(p.ex.get()), 0);
	ibv_end_poll(p.ex.get());
}

CONFORM(PollEx, next_poll_goes_on_and_ends_with_ENOENT)
{
	ExPair p(bed);
	p.send(IBV_WR_SEND, 7);
	p.send(IBV_WR_SEND, 8);
	p.start();
	EXPECT_EQ(p.ex->wr_id, 7u);
	int error = ENOENT;
	for (double until = now_s() + 10 * slow(); error == ENOENT && now_s() < until;)
		error = ibv_next_poll(p.ex.get());
	EXPECT_OK(error);
	EXPECT_EQ(p.ex->wr_id, 8u);
	EXPECT_ERR(ibv_next_poll(p.ex.get()), ENOENT);
	ibv_end_poll(p.ex.get());
}

CONFORM(PollEx, timestamps_go_forward)
{
	ExPair p(bed, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	uint64_t last = 0;
	for (uint64_t id = 7; id < 10; id++) {
		p.send(IBV_WR_SEND, id);
		p.start();
		uint64_t now = ibv_wc_read_completion_ts(p.ex.get());
		EXPECT_GT(now, last);
		last = now;
		ibv_end_poll(p.ex.get());
	}
}

CONFORM(PollEx, wall_clock_is_that_of_the_host)
{
	ExPair p(bed, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	timespec before, after;
	clock_gettime(CLOCK_REALTIME, &before);
	p.send(IBV_WR_SEND, 7);
	p.start();
	uint64_t stamp = ibv_wc_read_completion_wallclock_ns(p.ex.get());
	ibv_end_poll(p.ex.get());
	clock_gettime(CLOCK_REALTIME, &after);
	auto ns = [](const timespec &t) {
		return static_cast<uint64_t>(t.tv_sec) * 1000000000 +
		       static_cast<uint64_t>(t.tv_nsec);
	};
	// A coarse clock may be behind by a tick.
	constexpr uint64_t kTickNs = 20000000;
	EXPECT_GT(stamp + kTickNs, ns(before));
	EXPECT_LT(stamp, ns(after) + kTickNs);
}

CONFORM(PollEx, classic_polling_works_too)
{
	ExPair p(bed);
	p.send(IBV_WR_SEND, 7);
	ibv_wc wc = {};
	int got = 0;
	for (double until = now_s() + 10 * slow(); !got && now_s() < until;)
		got = ibv_poll_cq(ibv_cq_ex_to_cq(p.ex.get()), 1, &wc);
	ASSERT_EQ(got, 1);
	EXPECT_EQ(wc.wr_id, 7u);
}

} // namespace
} // namespace vt
