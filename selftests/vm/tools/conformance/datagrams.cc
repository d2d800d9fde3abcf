// SPDX-License-Identifier: GPL-2.0
// Address handles, datagrams, multicast groups. iWARP has none of them.
#include <cstring>
#include <vector>

#include "conform.h"
#include "limits.h"
#include "pair.h"

namespace vt {
namespace {

ibv_ah_attr own_way(const Bed &bed)
{
	ibv_ah_attr way = {};
	way.is_global = 1;
	way.port_num = 1;
	way.grh.dgid = bed.device.gid();
	way.grh.sgid_index = static_cast<uint8_t>(bed.device.gid_index());
	way.grh.hop_limit = 64;
	return way;
}

Ah try_ah(Bed &bed, ibv_ah_attr way)
{
	return Ah(ibv_create_ah(bed.pd.get(), &way));
}

// Skips the case if there are no address handles.
void need_ah(Bed &bed)
{
	made(try_ah(bed, own_way(bed)), "ibv_create_ah");
}

CONFORM(CreateAh, to_oneself)
{
	need_ah(bed);
}

CONFORM(CreateAh, with_every_member_of_the_GRH)
{
	need_ah(bed);
	ibv_ah_attr way = own_way(bed);
	way.grh.traffic_class = 0xff;
	way.grh.flow_label = 0xfffff;
	way.grh.hop_limit = 255;
	way.sl = 7;
	EXPECT_ERR(refusal(try_ah(bed, way)), 0);
}

CONFORM(CreateAh, without_a_GRH_is_refused)
{
	need_ah(bed);
	ibv_ah_attr way = own_way(bed);
	way.is_global = 0;
	EXPECT_ERR(refusal(try_ah(bed, way)), EINVAL);
}

CONFORM(CreateAh, port_0_is_refused)
{
	need_ah(bed);
	ibv_ah_attr way = own_way(bed);
	way.port_num = 0;
	EXPECT_ERR(refusal(try_ah(bed, way)), EINVAL);
}

CONFORM(CreateAh, port_beyond_the_last_is_refused)
{
	need_ah(bed);
	ibv_ah_attr way = own_way(bed);
	way.port_num = static_cast<uint8_t>(bed.device.attr().phys_port_cnt + 1);
	EXPECT_ERR(refusal(try_ah(bed, way)), EINVAL);
}

CONFORM(CreateAh, source_GID_of_an_empty_entry_is_refused)
{
	need_ah(bed);
	ibv_ah_attr way = own_way(bed);
	way.grh.sgid_index = static_cast<uint8_t>(bed.device.port().gid_tbl_len - 1);
	EXPECT_ERR(refusal(try_ah(bed, way)), ENODATA);
}

CONFORM(CreateAh, source_GID_beyond_the_table_is_refused)
{
	need_ah(bed);
	if (bed.device.port().gid_tbl_len > 255)
		return; // an index has 8 bits
	ibv_ah_attr way = own_way(bed);
	way.grh.sgid_index = static_cast<uint8_t>(bed.device.port().gid_tbl_len);
	EXPECT_ERR(refusal(try_ah(bed, way)), EINVAL);
}

CONFORM(CreateAh, keeps_its_pd_busy)
{
	Ah ah = made(try_ah(bed, own_way(bed)), "ibv_create_ah");
	EXPECT_ERR(ibv_dealloc_pd(bed.pd.get()), EBUSY);
}

CONFORM(Limits, max_ah_and_one_more)
{
	need_ah(bed);
	expect_limit(bed.device.attr().max_ah, {.bytes = 1024},
		     [&bed] { return try_ah(bed, own_way(bed)); });
}

CONFORM(CreateAh, iWARP_has_none)
{
	if (!bed.device.is_iwarp())
		return;
	EXPECT_ERR(refusal(try_ah(bed, own_way(bed))), EOPNOTSUPP);
}

// ---- datagrams ----

Pair datagrams(Bed &bed)
{
	return Pair(bed, impatient_link(IBV_QPT_UD));
}

CONFORM(Datagram, of_the_largest_size)
{
	Pair pair = datagrams(bed);
	uint32_t bytes = mtu_bytes(bed.device.port().active_mtu);
	Work w = pair.work(IBV_WR_SEND);
	w.sges = {pair.near_mem.sge(0, bytes)};
	pair.receive();
	pair.ends(w, IBV_WC_SUCCESS);
	EXPECT_EQ(pair.far_cq.expect(IBV_WC_SUCCESS, 7).bytes, bytes + 40);
	pair.expect_same(bytes, 0, 40);
}

CONFORM(Datagram, of_another_Q_Key_is_dropped)
{
	Pair pair = datagrams(bed);
	pair.receive();
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud = {pair.near.ah(), pair.far.qp()->qp_num, pair.far.options().qkey ^ 1};
	ASSERT_OK(ibv_post_send(pair.near.qp(), &wr, &bad));
	pair.near_cq.expect(IBV_WC_SUCCESS, 0);
	pair.far_cq.expect_none(0.02);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

CONFORM(Datagram, without_a_receive_is_dropped)
{
	Pair pair = datagrams(bed);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	// What is sent behind it has come, so it has, too.
	post_recv(pair.near, 9, {pair.near_mem.sge(4096, 4096)});
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud = {pair.near.ah(), pair.near.qp()->qp_num, pair.near.options().qkey};
	ASSERT_OK(ibv_post_send(pair.near.qp(), &wr, &bad));
	pair.near_cq.expect(IBV_WC_SUCCESS, 9);
	pair.receive();
	pair.far_cq.expect_none(0.02);
}

CONFORM(Datagram, to_an_unknown_qp_completes)
{
	Pair pair = datagrams(bed);
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud = {pair.near.ah(), pair.far.qp()->qp_num ^ 0x800000, 0};
	ASSERT_OK(ibv_post_send(pair.near.qp(), &wr, &bad));
	pair.near_cq.expect(IBV_WC_SUCCESS, 0);
}

CONFORM(Datagram, by_an_address_handle_of_another_pd_fails)
{
	Pair pair = datagrams(bed);
	Pd pd = make_pd(bed.context);
	ibv_ah_attr way = own_way(bed);
	Ah ah = made(Ah(ibv_create_ah(pd.get(), &way)), "ibv_create_ah");
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud = {ah.get(), pair.far.qp()->qp_num, pair.far.options().qkey};
	ASSERT_OK(ibv_post_send(pair.near.qp(), &wr, &bad));
	pair.near_cq.expect(IBV_WC_LOC_QP_OP_ERR, 0);
}

CONFORM(Datagram, is_answered_by_the_address_in_its_GRH)
{
	Pair pair = datagrams(bed);
	pair.receive();
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	ibv_wc wc = {};
	int got = 0;
	for (double until = now_s() + 10 * slow(); !got && now_s() < until;)
		got = ibv_poll_cq(pair.far_cq.get(), 1, &wc);
	ASSERT_EQ(got, 1);
	auto *grh = reinterpret_cast<ibv_grh *>(pair.far_mem.at(0));
	Ah back(ibv_create_ah_from_wc(bed.pd.get(), &wc, grh, 1));
	ASSERT_ERR(refusal(back), 0);
	post_recv(pair.near, 9, {pair.near_mem.sge(4096, 4096)});
	ibv_sge sge = pair.far_mem.sge(0, 64);
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.ud = {back.get(), wc.src_qp, pair.near.options().qkey};
	ASSERT_OK(ibv_post_send(pair.far.qp(), &wr, &bad));
	Completion c = pair.near_cq.expect(IBV_WC_SUCCESS, 9);
	EXPECT_EQ(c.src_qp, pair.far.qp()->qp_num);
	EXPECT_EQ(c.bytes, 64u + 40);
}

// ---- multicast ----

ibv_gid group(uint8_t last)
{
	ibv_gid gid = {};
	gid.raw[0] = 0xff;
	gid.raw[1] = 0x0e;
	gid.raw[15] = last;
	return gid;
}

// Skips the case if there are no groups.
void attach(const Link &link, const ibv_gid &gid)
{
	need_ok(ibv_attach_mcast(link.qp(), &gid, 0), "ibv_attach_mcast");
}

CONFORM(Multicast, attach_and_detach)
{
	Pair pair = datagrams(bed);
	ibv_gid gid = group(1);
	attach(pair.far, gid);
	EXPECT_OK(ibv_detach_mcast(pair.far.qp(), &gid, 0));
}

CONFORM(Multicast, attaching_twice_takes_one_detach)
{
	Pair pair = datagrams(bed);
	ibv_gid gid = group(2);
	attach(pair.far, gid);
	EXPECT_OK(ibv_attach_mcast(pair.far.qp(), &gid, 0));
	EXPECT_OK(ibv_detach_mcast(pair.far.qp(), &gid, 0));
}

CONFORM(Multicast, detaching_what_is_not_attached_is_refused)
{
	Pair pair = datagrams(bed);
	ibv_gid gid = group(3);
	attach(pair.far, gid);
	EXPECT_OK(ibv_detach_mcast(pair.far.qp(), &gid, 0));
	EXPECT_ERR(ibv_detach_mcast(pair.far.qp(), &gid, 0), EINVAL);
}

CONFORM(Multicast, of_a_unicast_GID_is_refused)
{
	Pair pair = datagrams(bed);
	EXPECT_ERR(ibv_attach_mcast(pair.far.qp(), &bed.device.gid(), 0), EINVAL);
}

CONFORM(Multicast, of_a_connected_qp_is_refused)
{
	bed.need_roce("it has no groups");
	Pair pair(bed);
	ibv_gid gid = group(4);
	EXPECT_ERR(ibv_attach_mcast(pair.far.qp(), &gid, 0), EINVAL);
}

CONFORM(Multicast, keeps_its_qp_busy)
{
	Pair pair = datagrams(bed);
	ibv_gid gid = group(5);
	attach(pair.far, gid);
	EXPECT_ERR(ibv_destroy_qp(pair.far.qp()), EBUSY);
	EXPECT_OK(ibv_detach_mcast(pair.far.qp(), &gid, 0));
}

} // namespace
} // namespace vt
