// SPDX-License-Identifier: GPL-2.0
// The device and its ports, GIDs and P_Keys: queries that must agree with each other, and arguments
// out of range.
#include <cstring>
#include <poll.h>
#include <unistd.h>

#include "conform.h"

namespace vt {
namespace {

CONFORM(Device, is_in_the_list)
{
	int count = 0, found = 0;
	ibv_device **list = ibv_get_device_list(&count);
	ASSERT_NE(list, nullptr);
	for (int i = 0; i < count; i++)
		found += !strcmp(ibv_get_device_name(list[i]), bed.device.name());
	EXPECT_EQ(list[count], nullptr);
	ibv_free_device_list(list);
	EXPECT_EQ(found, 1);
}

CONFORM(Device, guid_is_that_of_query_device)
{
	EXPECT_EQ(ibv_get_device_guid(bed.context->device), bed.device.attr().node_guid);
	EXPECT_NE(bed.device.attr().node_guid, 0u);
}

CONFORM(Device, index_is_known)
{
	EXPECT_GE(ibv_get_device_index(bed.context->device), 0);
}

CONFORM(Device, node_type_fits_the_transport)
{
	const ibv_device *device = bed.context->device;
	EXPECT_EQ(device->node_type == IBV_NODE_RNIC, bed.device.is_iwarp());
	EXPECT_EQ(device->transport_type == IBV_TRANSPORT_IWARP, bed.device.is_iwarp());
}

CONFORM(Device, query_device_agrees_with_query_device_ex)
{
	ibv_device_attr attr = {};
	ASSERT_OK(ibv_query_device(bed.context, &attr));
	const ibv_device_attr &ex = bed.device.attr();
	EXPECT_STREQ(attr.fw_ver, ex.fw_ver);
	EXPECT_EQ(attr.node_guid, ex.node_guid);
	EXPECT_EQ(attr.sys_image_guid, ex.sys_image_guid);
	EXPECT_EQ(attr.max_mr_size, ex.max_mr_size);
	EXPECT_EQ(attr.device_cap_flags, ex.device_cap_flags);
	EXPECT_EQ(attr.max_qp, ex.max_qp);
	EXPECT_EQ(attr.max_qp_wr, ex.max_qp_wr);
	EXPECT_EQ(attr.max_sge, ex.max_sge);
	EXPECT_EQ(attr.max_cq, ex.max_cq);
	EXPECT_EQ(attr.max_cqe, ex.max_cqe);
	EXPECT_EQ(attr.max_mr, ex.max_mr);
	EXPECT_EQ(attr.max_pd, ex.max_pd);
	EXPECT_EQ(attr.max_srq, ex.max_srq);
	EXPECT_EQ(attr.max_srq_wr, ex.max_srq_wr);
	EXPECT_EQ(attr.max_srq_sge, ex.max_srq_sge);
	EXPECT_EQ(attr.atomic_cap, ex.atomic_cap);
	EXPECT_EQ(attr.phys_port_cnt, ex.phys_port_cnt);
}

CONFORM(Device, limits_are_positive)
{
	const ibv_device_attr &attr = bed.device.attr();
	EXPECT_GT(attr.max_mr_size, 0u);
	EXPECT_NE(attr.page_size_cap & 4096, 0u);
	EXPECT_GT(attr.max_qp, 0);
	EXPECT_GT(attr.max_qp_wr, 0);
	EXPECT_GT(attr.max_sge, 0);
	EXPECT_GT(attr.max_sge_rd, 0);
	EXPECT_GT(attr.max_cq, 0);
	EXPECT_GT(attr.max_cqe, 0);
	EXPECT_GT(attr.max_mr, 0);
	EXPECT_GT(attr.max_pd, 0);
	EXPECT_GT(attr.max_qp_rd_atom, 0);
	EXPECT_GT(attr.max_qp_init_rd_atom, 0);
	EXPECT_GT(attr.phys_port_cnt, 0);
	EXPECT_GT(bed.context->num_comp_vectors, 0);
}

CONFORM(Device, query_device_ex_refuses_an_unknown_input)
{
	ibv_query_device_ex_input input = {kUnknownMask};
	ibv_device_attr_ex attr = {};
	EXPECT_ERR(ibv_query_device_ex(bed.context, &input, &attr), EINVAL);
}

CONFORM(Device, raw_clock_goes_forward)
{
	ibv_values_ex first = {}, second = {};
	first.comp_mask = second.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	need_ok(ibv_query_rt_values_ex(bed.context, &first), "ibv_query_rt_values_ex");
	EXPECT_EQ(first.comp_mask, unsigned{IBV_VALUES_MASK_RAW_CLOCK});
	usleep(1000);
	ASSERT_OK(ibv_query_rt_values_ex(bed.context, &second));
	EXPECT_LT(first.raw_clock.tv_nsec, second.raw_clock.tv_nsec);
	EXPECT_GT(bed.device.attr_ex().hca_core_clock, 0u);
	EXPECT_GT(bed.device.attr_ex().completion_timestamp_mask, 0u);
}

CONFORM(Device, rt_values_refuses_an_unknown_mask)
{
	ibv_values_ex values = {};
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	need_ok(ibv_query_rt_values_ex(bed.context, &values), "ibv_query_rt_values_ex");
	values.comp_mask = kUnknownMask;
	EXPECT_ERR(ibv_query_rt_values_ex(bed.context, &values), EINVAL);
}

CONFORM(Device, contexts_are_independent)
{
	ibv_context *other = ibv_open_device(bed.context->device);
	ASSERT_NE(other, nullptr);
	EXPECT_NE(other->cmd_fd, bed.context->cmd_fd);
	{
		Pd pd(ibv_alloc_pd(other));
		EXPECT_NE(pd, nullptr);
	}
	EXPECT_OK(ibv_close_device(other));
}

CONFORM(Device, import_device_shares_the_command_file)
{
	ibv_context *other = ibv_import_device(dup(bed.context->cmd_fd));
	if (!other)
		refuse("ibv_import_device", errno);
	ibv_device_attr attr = {};
	EXPECT_OK(ibv_query_device(other, &attr));
	EXPECT_EQ(attr.node_guid, bed.device.attr().node_guid);
	EXPECT_OK(ibv_close_device(other));
}

CONFORM(Device, import_device_refuses_another_file)
{
	int fds[2];
	ASSERT_EQ(pipe(fds), 0);
	EXPECT_EQ(ibv_import_device(fds[0]), nullptr);
	close(fds[0]);
	close(fds[1]);
}

CONFORM(Device, no_event_without_a_cause)
{
	pollfd readable = {bed.context->async_fd, POLLIN, 0};
	EXPECT_EQ(poll(&readable, 1, 20), 0);
}

// ---- ports ----

CONFORM(Port, is_active)
{
	const ibv_port_attr &port = bed.device.port();
	EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
	EXPECT_EQ(port.phys_state, 5) << "LinkUp";
	EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
}

CONFORM(Port, mtus_are_in_order)
{
	const ibv_port_attr &port = bed.device.port();
	EXPECT_GE(port.active_mtu, IBV_MTU_256);
	EXPECT_LE(port.active_mtu, port.max_mtu);
	EXPECT_LE(port.max_mtu, IBV_MTU_4096);
}

CONFORM(Port, tables_and_messages_have_a_length)
{
	EXPECT_GT(bed.device.port().gid_tbl_len, 0);
	EXPECT_GT(bed.device.port().max_msg_sz, 0u);
	EXPECT_EQ(bed.device.port().pkey_tbl_len > 0, !bed.device.is_iwarp());
}

CONFORM(Port, number_0_is_refused)
{
	ibv_port_attr port;
	EXPECT_ERR(ibv_query_port(bed.context, 0, &port), EINVAL);
}

CONFORM(Port, number_beyond_the_last_is_refused)
{
	ibv_port_attr port;
	auto beyond = static_cast<uint8_t>(bed.device.attr().phys_port_cnt + 1);
	EXPECT_ERR(ibv_query_port(bed.context, beyond, &port), EINVAL);
}

// ---- GIDs ----

CONFORM(Gid, query_gid_agrees_with_query_gid_ex)
{
	auto index = static_cast<uint32_t>(bed.device.gid_index());
	ibv_gid gid = {};
	ibv_gid_entry entry = {};
	ASSERT_OK(ibv_query_gid(bed.context, 1, static_cast<int>(index), &gid));
	ASSERT_OK(ibv_query_gid_ex(bed.context, 1, index, &entry, 0));
	EXPECT_EQ(memcmp(&gid, &entry.gid, sizeof(gid)), 0);
	EXPECT_EQ(entry.gid_index, index);
	EXPECT_EQ(entry.port_num, 1u);
}

CONFORM(Gid, table_agrees_with_query_gid_ex)
{
	ibv_gid_entry table[512], entry;
	ssize_t entries = ibv_query_gid_table(bed.context, table, 512, 0);
	ASSERT_GT(entries, 0);
	for (ssize_t i = 0; i < entries; i++) {
		ASSERT_OK(ibv_query_gid_ex(bed.context, table[i].port_num, table[i].gid_index,
					   &entry, 0));
		EXPECT_EQ(memcmp(&entry.gid, &table[i].gid, sizeof(ibv_gid)), 0);
		EXPECT_EQ(entry.gid_type, table[i].gid_type);
	}
}

CONFORM(Gid, table_of_too_few_entries_is_refused)
{
	ibv_gid_entry table[1];
	ibv_gid_entry all[512];
	if (ibv_query_gid_table(bed.context, all, 512, 0) < 2)
		skip("only one GID");
	EXPECT_EQ(ibv_query_gid_table(bed.context, table, 1, 0), -EINVAL);
}

CONFORM(Gid, table_refuses_flags)
{
	ibv_gid_entry table[512];
	EXPECT_EQ(ibv_query_gid_table(bed.context, table, 512, 1), -EINVAL);
}

CONFORM(Gid, query_gid_ex_refuses_flags)
{
	ibv_gid_entry entry;
	EXPECT_ERR(ibv_query_gid_ex(bed.context, 1, 0, &entry, 1), EINVAL);
}

CONFORM(Gid, index_beyond_the_table_is_refused)
{
	ibv_gid_entry entry;
	auto beyond = static_cast<uint32_t>(bed.device.port().gid_tbl_len);
	EXPECT_ERR(ibv_query_gid_ex(bed.context, 1, beyond, &entry, 0), EINVAL);
	ibv_gid gid;
	EXPECT_NE(ibv_query_gid(bed.context, 1, static_cast<int>(beyond), &gid), 0);
}

CONFORM(Gid, port_beyond_the_last_is_refused)
{
	ibv_gid_entry entry;
	EXPECT_ERR(ibv_query_gid_ex(bed.context, bed.device.attr().phys_port_cnt + 1u, 0, &entry,
				    0),
		   EINVAL);
}

// ---- P_Keys ----

CONFORM(Pkey, index_0_is_the_default)
{
	bed.need_roce("it has no P_Keys");
	__be16 pkey = 0;
	ASSERT_OK(ibv_query_pkey(bed.context, 1, 0, &pkey));
	EXPECT_EQ(pkey, 0xffff);
	EXPECT_EQ(ibv_get_pkey_index(bed.context, 1, pkey), 0);
}

CONFORM(Pkey, index_beyond_the_table_is_refused)
{
	__be16 pkey = 0;
	EXPECT_NE(ibv_query_pkey(bed.context, 1, bed.device.port().pkey_tbl_len, &pkey), 0);
}

CONFORM(Pkey, unknown_key_has_no_index)
{
	EXPECT_EQ(ibv_get_pkey_index(bed.context, 1, 0x1234), -1);
}

} // namespace
} // namespace vt
