// SPDX-License-Identifier: GPL-2.0
// Each opcode on each type of QP by each of the two interfaces: what it does, or that it is
// refused. Then what requests may be: inline, of many SGEs, of no bytes, fenced, unsignalled.
#include <cstring>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

constexpr QpType kTypes[] = {
	{"RC", IBV_QPT_RC}, {"UC", IBV_QPT_UC}, {"UD", IBV_QPT_UD}, {"XRC", IBV_QPT_XRC_SEND}};

// IBTA table 46 (10.8.3.2): which service has which operation. Windows and invalidation have cases
// of their own.
bool has(ibv_qp_type type, ibv_wr_opcode opcode)
{
	switch (int{opcode}) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return type != IBV_QPT_UD;
	case kWrAtomicWrite:
	case kWrFlush:
		return type == IBV_QPT_RC;
	default:
		return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
	}
}

bool takes_receive(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool has_imm(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

uint64_t word_at(const Arena &arena, uint64_t offset = 0)
{
	uint64_t word;
	memcpy(&word, arena.at(offset), sizeof(word));
	return word;
}

// The receive of a message of near, as it should be.
void expect_receive(Pair &pair, const Work &w, uint32_t bytes)
{
	bool ud = pair.near.options().type == IBV_QPT_UD;
	bool write = w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	Completion c = pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	EXPECT_EQ(c.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	EXPECT_EQ(c.bytes, bytes + (ud ? 40 : 0));
	EXPECT_EQ(c.flags & IBV_WC_WITH_IMM ? 1 : 0, has_imm(w.opcode));
	if (has_imm(w.opcode)) {
		EXPECT_EQ(c.imm, w.imm);
	}
	if (ud) {
		EXPECT_TRUE(c.flags & IBV_WC_GRH);
		EXPECT_EQ(c.src_qp, pair.near.qp()->qp_num);
	}
	EXPECT_EQ(c.qp_num, pair.far.qp()->qp_num);
	// A WRITE goes to the same place here.
	pair.expect_same(bytes, 0, ud ? 40 : 0);
}

// A WRITE has come when a READ behind it ends: over iWARP it completes when it is sent.
void wait_placed(Pair &pair)
{
	if (pair.near.options().type != IBV_QPT_RC)
		return;
	Work behind = pair.work(IBV_WR_RDMA_READ, 99);
	behind.sges.clear();
	pair.ends(behind, IBV_WC_SUCCESS);
}

void wait_unreliable(const Pair &pair, uint32_t bytes)
{
	double until = now_s() + 5 * slow();
	while (memcmp(pair.near_mem.at(0), pair.far_mem.at(0), bytes) && now_s() < until)
		continue;
}

void move_data(Pair &pair, ibv_wr_opcode opcode)
{
	Work w = pair.work(opcode);
	if (takes_receive(opcode))
		pair.receive();
	pair.ends(w, IBV_WC_SUCCESS);
	if (takes_receive(opcode))
		return expect_receive(pair, w, 64);
	wait_placed(pair);
	wait_unreliable(pair, 64);
	pair.expect_same(64);
}

void compare_and_swap(Pair &pair)
{
	uint64_t old = word_at(pair.far_mem);
	Work w = pair.work(IBV_WR_ATOMIC_CMP_AND_SWP);
	w.compare_add = old;
	w.swap = 1234;
	pair.ends(w, IBV_WC_SUCCESS);
	EXPECT_EQ(word_at(pair.near_mem), old);
	EXPECT_EQ(word_at(pair.far_mem), 1234u);
	// One that does not compare changes nothing.
	w.swap = 99;
	pair.ends(w, IBV_WC_SUCCESS);
	EXPECT_EQ(word_at(pair.near_mem), 1234u);
	EXPECT_EQ(word_at(pair.far_mem), 1234u);
}

void fetch_and_add(Pair &pair)
{
	uint64_t old = word_at(pair.far_mem);
	Work w = pair.work(IBV_WR_ATOMIC_FETCH_AND_ADD);
	w.compare_add = 5;
	pair.ends(w, IBV_WC_SUCCESS);
	EXPECT_EQ(word_at(pair.near_mem), old);
	EXPECT_EQ(word_at(pair.far_mem), old + 5);
}

void flush(Pair &pair)
{
	Arena flushed(pair.bed.pd.get(), 4096, kAllAccess | kAccessFlushGlobal);
	Work w = pair.work(kWrFlush);
	w.sges.clear();
	w.remote_va = flushed.va(0);
	w.rkey = flushed.mr()->rkey;
	w.flush.bytes = 64;
	pair.ends(w, IBV_WC_SUCCESS);
}

void good_path(Pair &pair, ibv_wr_opcode opcode)
{
	switch (int{opcode}) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return compare_and_swap(pair);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return fetch_and_add(pair);
	case kWrFlush:
		return flush(pair);
	case kWrAtomicWrite: {
		pair.ends(pair.work(opcode), IBV_WC_SUCCESS);
		return pair.expect_same(8);
	}
	default:
		return move_data(pair, opcode);
	}
}

void by_post_send(Bed &bed, ibv_qp_type type, ibv_wr_opcode opcode)
{
	bed.need_for(opcode);
	Pair pair(bed, impatient_link(type));
	bool iwarp_lacks = bed.device.is_iwarp() && opcode == IBV_WR_SEND_WITH_IMM;
	if (!iwarp_lacks && has(type, opcode))
		return good_path(pair, opcode);
	EXPECT_ERR(try_post(pair.near, pair.work(opcode)), EINVAL);
	EXPECT_EQ(pair.near.state(), IBV_QPS_RTS);
}

// What the interface cannot post is refused at creation: see SendOps.
void by_wr(Bed &bed, ibv_qp_type type, ibv_wr_opcode opcode)
{
	bed.need_for(opcode);
	if (bed.device.is_iwarp() && opcode == IBV_WR_SEND_WITH_IMM)
		skip("iWARP: it has no SEND with immediate data");
	LinkOptions options = impatient_link(type);
	options.modern = true;
	if (int{opcode} == kWrAtomicWrite || int{opcode} == kWrFlush) {
		bed.need_placement(int{opcode} == kWrFlush ? kWithFlush : kWithAtomicWrite);
		options.placement = true;
		options.inline_bytes = 8;
	}
	if (int{opcode} == kWrFlush)
		options.access |= kAccessFlush;
	Pair pair(bed, options);
	good_path(pair, opcode);
}

constexpr ibv_wr_opcode kClassic[] = {
	IBV_WR_RDMA_WRITE,	    IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,	    IBV_WR_RDMA_READ,		IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD};

const Added opcodes([] {
	for (const QpType &type : kTypes) {
		for (ibv_wr_opcode opcode : kClassic) {
			add_case("PostSend",
				 std::string(type.name) + "_" + opcode_name(opcode) +
					 (has(type.type, opcode) ? "" : "_is_refused"),
				 [type, opcode](Bed &bed) {
					 by_post_send(bed, type.type, opcode);
				 });
			if (has(type.type, opcode))
				add_case("Wr", std::string(type.name) + "_" + opcode_name(opcode),
					 [type, opcode](Bed &bed) {
						 by_wr(bed, type.type, opcode);
					 });
		}
		for (ibv_wr_opcode opcode : {kWrAtomicWrite, kWrFlush})
			if (has(type.type, opcode))
				add_case("Wr", std::string(type.name) + "_" + opcode_name(opcode),
					 [type, opcode](Bed &bed) {
						 by_wr(bed, type.type, opcode);
					 });
	}
});

// ---- what a request may be, on each type ----

constexpr uint32_t kInline = 64;

void send_inline(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.inline_bytes = kInline;
	options.modern = modern;
	Pair pair(bed, options);
	pair.receive();
	Work w = pair.work(IBV_WR_SEND);
	w.flags |= IBV_SEND_INLINE;
	// The key does not count, and the memory is free again at once.
	w.sges[0].lkey ^= 0x5500;
	post(pair.near, w);
	char sent[kInline];
	memcpy(sent, pair.near_mem.at(0), sizeof(sent));
	memset(pair.near_mem.at(0), 0, sizeof(sent));
	pair.near_cq.expect(IBV_WC_SUCCESS, w.id);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	EXPECT_EQ(memcmp(pair.far_mem.at(type == IBV_QPT_UD ? 40 : 0), sent, sizeof(sent)), 0);
}

void send_beyond_inline(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.inline_bytes = kInline;
	options.modern = modern;
	Pair pair(bed, options);
	Work w = pair.work(IBV_WR_SEND);
	w.flags |= IBV_SEND_INLINE;
	w.sges[0].length = pair.near.inline_bytes() + 1;
	int error = try_post(pair.near, w);
	EXPECT_TRUE(error == EINVAL || error == ENOMEM) << Errno{error};
}

void send_of_many_sges(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.sges = static_cast<uint32_t>(bed.device.attr().max_sge);
	options.modern = modern;
	Pair pair(bed, options);
	pair.receive();
	Work w = pair.work(IBV_WR_SEND);
	w.sges.clear();
	for (uint32_t i = 0; i < options.sges; i++)
		w.sges.push_back(pair.near_mem.sge(i * 8, 8));
	pair.ends(w, IBV_WC_SUCCESS);
	expect_receive(pair, w, options.sges * 8);
}

void send_beyond_sges(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.modern = modern;
	Pair pair(bed, options);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	ASSERT_OK(ibv_query_qp(pair.near.qp(), &attr, IBV_QP_CAP, &init));
	Work w = pair.work(IBV_WR_SEND);
	w.sges.assign(init.cap.max_send_sge + 1, pair.near_mem.sge(0, 1));
	int error = try_post(pair.near, w);
	EXPECT_TRUE(error == EINVAL || error == ENOMEM) << Errno{error};
}

void send_of_nothing(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.modern = modern;
	Pair pair(bed, options);
	pair.receive();
	Work w = pair.work(IBV_WR_SEND);
	w.sges.clear();
	pair.ends(w, IBV_WC_SUCCESS);
	expect_receive(pair, w, 0);
}

void send_unsignalled(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.modern = modern;
	Pair pair(bed, options);
	pair.receive(7);
	pair.receive(8);
	Work quiet = pair.work(IBV_WR_SEND, 1);
	quiet.flags = 0;
	post(pair.near, quiet);
	post(pair.near, pair.work(IBV_WR_SEND, 2));
	pair.near_cq.expect(IBV_WC_SUCCESS, 2);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	pair.far_cq.expect(IBV_WC_SUCCESS, 8);
	pair.near_cq.expect_none(0.01);
}

void send_all_signalled(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.modern = modern;
	options.all_signalled = true;
	Pair pair(bed, options);
	pair.receive();
	Work w = pair.work(IBV_WR_SEND);
	w.flags = 0;
	pair.ends(w, IBV_WC_SUCCESS);
}

void send_of_unknown_flags(Bed &bed, ibv_qp_type type, bool modern)
{
	LinkOptions options = impatient_link(type);
	options.modern = modern;
	Pair pair(bed, options);
	Work w = pair.work(IBV_WR_SEND);
	w.flags |= 1u << 20;
	EXPECT_ERR(try_post(pair.near, w), EINVAL);
}

using FormRun = void (*)(Bed &, ibv_qp_type, bool);

const Added forms([] {
	struct {
		const char *name;
		FormRun run;
	} rows[] = {{"inline", send_inline},
		    {"beyond_max_inline_data_is_refused", send_beyond_inline},
		    {"of_max_sge_SGEs", send_of_many_sges},
		    {"of_more_SGEs_is_refused", send_beyond_sges},
		    {"of_no_bytes", send_of_nothing},
		    {"unsignalled", send_unsignalled},
		    {"on_a_qp_that_signals_all", send_all_signalled},
		    {"with_an_unknown_flag_is_refused", send_of_unknown_flags}};
	for (const auto &row : rows)
		for (const QpType &type : kTypes)
			for (bool modern : {false, true})
				add_case(modern ? "WrForm" : "PostForm",
					 std::string(type.name) + "_send_" + row.name,
					 [row, type, modern](Bed &bed) {
						 row.run(bed, type.type, modern);
					 });
});

CONFORM(PostForm, fence_waits_for_the_read_before_it)
{
	Pair pair(bed);
	Work read = pair.work(IBV_WR_RDMA_READ, 1);
	Work send = pair.work(IBV_WR_SEND, 2);
	send.flags |= IBV_SEND_FENCE;
	pair.receive();
	// The SEND sends what the READ brings.
	ASSERT_OK(try_post_list(pair.near, {read, send}));
	char expected[64];
	memcpy(expected, pair.far_mem.at(0), sizeof(expected));
	pair.near_cq.expect(IBV_WC_SUCCESS, 1);
	pair.near_cq.expect(IBV_WC_SUCCESS, 2);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), expected, sizeof(expected)), 0);
	pair.expect_same(64);
}

CONFORM(PostForm, write_and_read_of_no_bytes_need_no_key)
{
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		Pair pair(bed);
		Work w = pair.work(opcode);
		w.sges.clear();
		w.rkey = 0;
		w.remote_va = 0;
		pair.ends(w, IBV_WC_SUCCESS);
	}
}

CONFORM(WrForm, abort_posts_nothing)
{
	LinkOptions options = impatient_link();
	options.modern = true;
	Pair pair(bed, options);
	ibv_qp_ex *qp = pair.near.ex();
	pair.receive();
	ibv_wr_start(qp);
	qp->wr_id = 5;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, pair.near_mem.lkey(), pair.near_mem.va(0), 64);
	ibv_wr_abort(qp);
	pair.near_cq.expect_none(0.01);
	pair.ends(pair.work(IBV_WR_SEND, 6), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

} // namespace
} // namespace vt
