// SPDX-License-Identifier: GPL-2.0
// ibv_modify_qp(): each transition of each type, and each attribute in each transition, without a
// peer. iWARP's QPs are moved by their connection, and are left out.
#include "qp_states.h"

#include <fcntl.h>

#include "conform.h"
#include "pair.h"
#include "xrc.h"

namespace vt {
namespace {

constexpr QpType kTypes[] = {{"RC", IBV_QPT_RC},
			     {"UC", IBV_QPT_UC},
			     {"UD", IBV_QPT_UD},
			     {"XRC_SEND", IBV_QPT_XRC_SEND},
			     {"XRC_RECV", IBV_QPT_XRC_RECV}};

// A target's domain.
Xrcd domain_for(Bed &bed, ibv_qp_type type)
{
	if (type != IBV_QPT_XRC_RECV)
		return nullptr;
	return made(try_open_domain(bed.context, -1, O_CREAT), "ibv_open_xrcd");
}

LinkOptions options_for(ibv_qp_type type, ibv_xrcd *xrcd)
{
	LinkOptions options = impatient_link(type);
	options.xrcd = xrcd;
	return options;
}

// A QP alone.
struct Single {
	Single(Bed &b, ibv_qp_type type, ibv_qp_state state)
		: bed(b), cq(b.device, {}), xrcd(domain_for(b, type)),
		  link(b.device, b.pd.get(), cq.get(), cq.get(), options_for(type, xrcd.get()))
	{
		bring_to(&link, state);
	}

	// Good values for all attributes. The peer is the QP itself.
	ibv_qp_attr values() const
	{
		ibv_qp_attr a = {};
		a.port_num = 1;
		a.qkey = 0x11111111;
		a.qp_access_flags = kAllAccess;
		a.path_mtu = static_cast<ibv_mtu>(bed.device.port().active_mtu);
		a.dest_qp_num = link.qp()->qp_num;
		a.max_dest_rd_atomic = a.max_rd_atomic = 4;
		a.min_rnr_timer = 12;
		a.timeout = 14;
		a.retry_cnt = a.rnr_retry = 7;
		a.path_mig_state = IBV_MIG_MIGRATED;
		a.ah_attr.is_global = 1;
		a.ah_attr.port_num = 1;
		a.ah_attr.grh.dgid = bed.device.gid();
		a.ah_attr.grh.sgid_index = static_cast<uint8_t>(bed.device.gid_index());
		a.ah_attr.grh.hop_limit = 64;
		return a;
	}

	int modify(ibv_qp_attr a, const QpTransition &t, int mask)
	{
		a.qp_state = t.to;
		return link.modify(&a, mask | IBV_QP_STATE);
	}

	Bed &bed;
	Cq cq;
	Xrcd xrcd;
	Link link;
};

std::string name_of(const QpType &type, ibv_qp_state from, ibv_qp_state to)
{
	return std::string(type.name) + "_" + state_name(from) + "_to_" + state_name(to);
}

void transition(Bed &bed, ibv_qp_type type, ibv_qp_state from, ibv_qp_state to)
{
	bed.need_roce("the connection moves its QPs");
	Single s(bed, type, from);
	bool legal = is_legal(from, to);
	EXPECT_ERR(try_transition(&s.link, from, to), legal ? 0 : EINVAL);
	EXPECT_EQ(s.link.state(), legal ? to : from);
	EXPECT_EQ(s.link.qp()->state, legal ? to : from) << "the library's copy";
}

const Added transitions([] {
	constexpr ibv_qp_state kTo[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
					IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
	for (const QpType &type : kTypes)
		for (ibv_qp_state from : quiet_states())
			for (ibv_qp_state to : kTo)
				add_case("QpState",
					 name_of(type, from, to) +
						 (is_legal(from, to) ? "" : "_is_refused"),
					 [type, from, to](Bed &bed) {
						 transition(bed, type.type, from, to);
					 });
});

// ---- attributes of each transition ----

using TransitionRun = void (*)(Bed &, ibv_qp_type, const QpTransition &);

void needs_each(Bed &bed, ibv_qp_type type, const QpTransition &t)
{
	for (const QpAttribute &attribute : qp_attributes()) {
		if (!(t.needs(type) & attribute.bit))
			continue;
		Single s(bed, type, t.from);
		EXPECT_ERR(s.modify(s.values(), t, t.needs(type) & ~attribute.bit), EINVAL)
			<< "without " << attribute.name;
		EXPECT_EQ(s.link.state(), t.from) << "without " << attribute.name;
	}
}

void takes_each(Bed &bed, ibv_qp_type type, const QpTransition &t)
{
	for (const QpAttribute &attribute : qp_attributes()) {
		if (!((t.needs(type) | t.takes(type)) & attribute.bit))
			continue;
		Single s(bed, type, t.from);
		ibv_qp_attr a = s.values();
		attribute.set(&a);
		EXPECT_ERR(s.modify(a, t, t.needs(type) | attribute.bit), 0) << attribute.name;
		EXPECT_TRUE(attribute.is_set(attributes_of(s.link))) << attribute.name;
		EXPECT_EQ(s.link.state(), t.to) << attribute.name;
	}
}

// The half of an RC QP that an XRC QP does not have: uverbs drops its attributes.
int dropped_for(ibv_qp_type type)
{
	if (type == IBV_QPT_XRC_SEND)
		return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (type == IBV_QPT_XRC_RECV)
		return IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	return 0;
}

void refuses_others(Bed &bed, ibv_qp_type type, const QpTransition &t)
{
	for (const QpAttribute &attribute : qp_attributes()) {
		if ((t.needs(type) | t.takes(type) | dropped_for(type)) & attribute.bit)
			continue;
		// An address vector has a port, so uverbs gives both.
		if (attribute.bit == IBV_QP_PORT && t.needs(type) & IBV_QP_AV)
			continue;
		Single s(bed, type, t.from);
		ibv_qp_attr a = s.values();
		attribute.set(&a);
		bool before = attribute.is_set(attributes_of(s.link));
		EXPECT_ERR(s.modify(a, t, t.needs(type) | attribute.bit), EINVAL) << attribute.name;
		EXPECT_EQ(attribute.is_set(attributes_of(s.link)), before) << attribute.name;
		EXPECT_EQ(s.link.state(), t.from) << attribute.name;
	}
}

void add_transition(const QpType &type, const QpTransition &t, const char *what, TransitionRun run)
{
	add_case("QpAttributes", name_of(type, t.from, t.to) + what, [type, &t, run](Bed &bed) {
		bed.need_roce("the connection moves its QPs");
		run(bed, type.type, t);
	});
}

const Added attributes([] {
	for (const QpType &type : kTypes)
		for (const QpTransition &t : qp_transitions()) {
			if (t.needs(type.type))
				add_transition(type, t, "_needs_each", needs_each);
			add_transition(type, t, "_takes_each", takes_each);
			add_transition(type, t, "_refuses_others", refuses_others);
		}
});

// ---- values out of range ----

struct Value {
	const char *name;
	ibv_qp_state from, to;
	int bit;
	void (*set)(ibv_qp_attr *a, const Bed &bed);
	int error = EINVAL;
};

const Value kBadValues[] = {
	{"port_0", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT,
	 [](ibv_qp_attr *a, const Bed &) { a->port_num = 0; }},
	{"port_beyond_the_last", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT,
	 [](ibv_qp_attr *a, const Bed &bed) {
		 a->port_num = static_cast<uint8_t>(bed.device.attr().phys_port_cnt + 1);
	 }},
	{"pkey_index_beyond_the_table", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX,
	 [](ibv_qp_attr *a, const Bed &bed) { a->pkey_index = bed.device.port().pkey_tbl_len; }},
	{"path_mtu_of_0", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU,
	 [](ibv_qp_attr *a, const Bed &) { a->path_mtu = static_cast<ibv_mtu>(0); }},
	{"path_mtu_of_8192", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU,
	 [](ibv_qp_attr *a, const Bed &) { a->path_mtu = static_cast<ibv_mtu>(6); }},
	{"dest_qp_num_of_25_bits", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_DEST_QPN,
	 [](ibv_qp_attr *a, const Bed &) { a->dest_qp_num = 1u << 24; }},
	{"min_rnr_timer_of_32", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_MIN_RNR_TIMER,
	 [](ibv_qp_attr *a, const Bed &) { a->min_rnr_timer = 32; }},
	{"max_dest_rd_atomic_above_the_limit", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_MAX_DEST_RD_ATOMIC,
	 [](ibv_qp_attr *a, const Bed &bed) {
		 a->max_dest_rd_atomic = static_cast<uint8_t>(bed.device.attr().max_qp_rd_atom + 1);
	 }},
	{"av_without_a_GRH", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV,
	 [](ibv_qp_attr *a, const Bed &) { a->ah_attr.is_global = 0; }},
	{"av_port_beyond_the_last", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV,
	 [](ibv_qp_attr *a, const Bed &bed) {
		 a->ah_attr.port_num = static_cast<uint8_t>(bed.device.attr().phys_port_cnt + 1);
	 }},
	{"av_sgid_index_of_an_empty_entry", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV,
	 [](ibv_qp_attr *a, const Bed &bed) {
		 a->ah_attr.grh.sgid_index =
			 static_cast<uint8_t>(bed.device.port().gid_tbl_len - 1);
	 },
	 ENODATA},
	{"timeout_of_32", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT,
	 [](ibv_qp_attr *a, const Bed &) { a->timeout = 32; }},
	{"retry_cnt_of_8", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_RETRY_CNT,
	 [](ibv_qp_attr *a, const Bed &) { a->retry_cnt = 8; }},
	{"rnr_retry_of_8", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_RNR_RETRY,
	 [](ibv_qp_attr *a, const Bed &) { a->rnr_retry = 8; }},
	{"max_rd_atomic_above_the_limit", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_MAX_QP_RD_ATOMIC,
	 [](ibv_qp_attr *a, const Bed &bed) {
		 a->max_rd_atomic = static_cast<uint8_t>(bed.device.attr().max_qp_init_rd_atom + 1);
	 }},
	{"access_flags_that_are_unknown", IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS,
	 [](ibv_qp_attr *a, const Bed &) { a->qp_access_flags = 1u << 18; }},
	{"path_mig_state_of_REARM", IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_PATH_MIG_STATE,
	 [](ibv_qp_attr *a, const Bed &) { a->path_mig_state = IBV_MIG_REARM; }},
	{"cur_state_that_is_another", IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_CUR_STATE,
	 [](ibv_qp_attr *a, const Bed &) { a->cur_qp_state = IBV_QPS_SQD; }},
};

void bad_value(Bed &bed, const Value &value)
{
	bed.need_roce("the connection moves its QPs");
	Single s(bed, IBV_QPT_RC, value.from);
	for (const QpTransition &t : qp_transitions()) {
		if (t.from != value.from || t.to != value.to)
			continue;
		ibv_qp_attr a = s.values();
		value.set(&a, bed);
		EXPECT_ERR(s.modify(a, t, t.rc.needs | value.bit), value.error);
		EXPECT_EQ(s.link.state(), t.from);
	}
}

const Added bad_values([] {
	for (const Value &value : kBadValues)
		add_case("ModifyQp", std::string(value.name) + "_is_refused",
			 [&value](Bed &bed) { bad_value(bed, value); });
});

CONFORM(ModifyQp, cur_state_that_is_right)
{
	bed.need_roce("the connection moves its QPs");
	Single s(bed, IBV_QPT_RC, IBV_QPS_RTS);
	ibv_qp_attr a = {};
	a.cur_qp_state = IBV_QPS_RTS;
	a.qp_state = IBV_QPS_RTS;
	EXPECT_OK(s.link.modify(&a, IBV_QP_STATE | IBV_QP_CUR_STATE));
}

CONFORM(ModifyQp, largest_values)
{
	bed.need_roce("the connection moves its QPs");
	Single s(bed, IBV_QPT_RC, IBV_QPS_RTR);
	ibv_qp_attr a = s.values();
	a.timeout = 31;
	a.sq_psn = 0xffffff;
	a.max_rd_atomic =
		static_cast<uint8_t>(std::min(bed.device.attr().max_qp_init_rd_atom, 255));
	a.min_rnr_timer = 31;
	a.qp_state = IBV_QPS_RTS;
	EXPECT_OK(s.link.modify(&a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					    IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	ibv_qp_attr now = attributes_of(s.link);
	EXPECT_EQ(now.timeout, 31);
	EXPECT_EQ(now.sq_psn, 0xffffffu);
	EXPECT_EQ(now.max_rd_atomic, a.max_rd_atomic);
	EXPECT_EQ(now.min_rnr_timer, 31);
}

CONFORM(ModifyQp, RESET_clears_the_attributes_and_the_qp_connects_again)
{
	bed.need_roce("the connection moves its QPs");
	Single s(bed, IBV_QPT_RC, IBV_QPS_RTS);
	s.link.move_to(IBV_QPS_RESET);
	bring_to(&s.link, IBV_QPS_RTS);
	EXPECT_EQ(s.link.state(), IBV_QPS_RTS);
}

CONFORM(QueryQp, state_is_that_of_the_last_modify)
{
	bed.need_roce("the connection moves its QPs");
	Cq cq(bed.device, {});
	for (ibv_qp_state state : quiet_states()) {
		Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), {});
		bring_to(&link, state);
		EXPECT_EQ(attributes_of(link).qp_state, state);
		EXPECT_EQ(attributes_of(link).cur_qp_state, state);
	}
}

CONFORM(QueryQp, of_a_connected_qp_shows_its_attributes)
{
	bed.need_roce("the connection has its attributes");
	Pair pair(bed);
	ibv_qp_attr a = attributes_of(pair.near);
	EXPECT_EQ(a.qp_state, IBV_QPS_RTS);
	EXPECT_EQ(a.dest_qp_num, pair.far.qp()->qp_num);
	EXPECT_EQ(a.timeout, pair.near.options().timeout);
	EXPECT_EQ(a.retry_cnt, pair.near.options().retries);
	EXPECT_EQ(a.rnr_retry, pair.near.options().rnr_retries);
	EXPECT_EQ(a.max_rd_atomic, pair.near.options().rd_atomic);
	EXPECT_EQ(a.max_dest_rd_atomic, pair.near.options().rd_atomic);
	EXPECT_EQ(a.min_rnr_timer, pair.near.options().min_rnr_timer);
	EXPECT_EQ(a.port_num, 1);
	EXPECT_EQ(mtu_bytes(a.path_mtu), pair.near.mtu());
	EXPECT_EQ(a.sq_psn, pair.near.address().psn);
	EXPECT_EQ(a.rq_psn, pair.far.address().psn);
}

CONFORM(QueryQp, iWARP_shows_the_state)
{
	if (!bed.device.is_iwarp())
		return;
	Pair pair(bed);
	EXPECT_EQ(pair.near.state(), IBV_QPS_RTS);
	pair.near.move_to(IBV_QPS_ERR);
	EXPECT_EQ(pair.near.state(), IBV_QPS_ERR);
}

} // namespace
} // namespace vt
