// SPDX-License-Identifier: GPL-2.0
/*
 * The counters that every InfiniBand port has (IBTA 16.1.3), computed from the
 * driver's own. ib_core asks for them by a MAD, to show them in
 * ports/1/counters. Only ib_core is answered; MADs from the wire are left to
 * the consumer that registered for their class.
 *
 * These counters are in units of 4 bytes, and count payload only.
 */
#include <linux/minmax.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "core/stats.h"
#include "verbs/pma.h"

/* Where an attribute begins in a MAD of the class (IBTA 16.1.2). */
#define PMA_DATA_OFFSET		40

static u32 clamp_to(u64 value, u32 max)
{
	return min_t(u64, value, max);
}

static void fill_info(struct ib_class_port_info *info)
{
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	/* 64-bit counters. Multicast is not counted separately. */
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
}

/* Each stays at its largest value. */
static void fill_counters(struct tern_dev *dev, struct ib_pma_portcounters *c)
{
	c->port_select = 1;
	c->link_downed_counter = clamp_to(tern_stat(dev, TERN_CNT_LINK_DOWN), U8_MAX);
	c->port_rcv_errors = cpu_to_be16(clamp_to(tern_stat(dev, TERN_CNT_RX_ICRC_ERR) +
						  tern_stat(dev, TERN_CNT_RX_MALFORMED), U16_MAX));
	c->port_xmit_discards = cpu_to_be16(clamp_to(tern_stat(dev, TERN_CNT_TX_DROPPED), U16_MAX));
	c->port_xmit_data = cpu_to_be32(clamp_to(tern_stat(dev, TERN_CNT_TX_BYTES) / 4, U32_MAX));
	c->port_rcv_data = cpu_to_be32(clamp_to(tern_stat(dev, TERN_CNT_RX_BYTES) / 4, U32_MAX));
	c->port_xmit_packets = cpu_to_be32(clamp_to(tern_stat(dev, TERN_CNT_TX_PKTS), U32_MAX));
	c->port_rcv_packets = cpu_to_be32(clamp_to(tern_stat(dev, TERN_CNT_RX_PKTS), U32_MAX));
}

static void fill_counters_ext(struct tern_dev *dev, struct ib_pma_portcounters_ext *c)
{
	c->port_select = 1;
	c->port_xmit_data = cpu_to_be64(tern_stat(dev, TERN_CNT_TX_BYTES) / 4);
	c->port_rcv_data = cpu_to_be64(tern_stat(dev, TERN_CNT_RX_BYTES) / 4);
	c->port_xmit_packets = cpu_to_be64(tern_stat(dev, TERN_CNT_TX_PKTS));
	c->port_rcv_packets = cpu_to_be64(tern_stat(dev, TERN_CNT_RX_PKTS));
}

int tern_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
		     const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_mad_size, u16 *out_mad_pkey_index)
{
	struct tern_dev *dev = to_tern_dev(ibdev);
	void *data = out->data + PMA_DATA_OFFSET;

	if (in_wc || port != 1 || in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;

	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		fill_info(data);
		break;
	case IB_PMA_PORT_COUNTERS:
		fill_counters(dev, data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		fill_counters_ext(dev, data);
		break;
	default:
		out->mad_hdr.status = cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
		break;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
