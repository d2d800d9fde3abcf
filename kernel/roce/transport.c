// SPDX-License-Identifier: GPL-2.0
/*
 * The RoCE transport as verbs/, device.c and link/ see it: its limits and its
 * table of operations.
 */
#include <linux/module.h>

#include "core/av.h"
#include "core/qp.h"
#include "core/transport.h"
#include "roce/qp/lock.h"
#include "roce/qp/modify.h"
#include "roce/qp/qp.h"
#include "roce/qp/run.h"
#include "roce/qp/state.h"
#include "roce/qp/way.h"
#include "roce/wire/mcast.h"
#include "roce/wire/net.h"
#include "roce/wire/port.h"
#include "roce/wire/sysfs.h"
#include "roce/wire/tx.h"

/* Without instructions that write caches back nothing is made persistent. */
#define FLUSH_CAPS (IB_DEVICE_FLUSH_GLOBAL |						\
		    (IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API) ? IB_DEVICE_FLUSH_PERSISTENT : 0))

/* Memory on demand in reliable QPs. */
#define ODP_RELIABLE									\
	TERN_ODP_CAPS(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_WRITE |	\
		      IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV)

static const struct tern_limits limits = {
	.max_qp = 65536,
	.max_cq = 65536,
	.max_mr = 1 << 20,
	.max_pd = 32768,
	.max_ah = 65536,
	.max_srq = 32768,
	.max_mw = 1 << 20,
	.max_xrcd = 32768,
	.max_qp_wr = 32768,
	.max_srq_wr = 32768,
	.max_cqe = 1 << 20,
	.max_rd_atomic = RC_MAX_RD_ATOMIC,
	.max_mcast_grp = 8192,
	.max_mcast_qp_attach = 256,
	.gid_tbl_len = 256,
	.pkey_tbl_len = 1,
	.max_msg_bytes = 1u << 31,
	.rate_limits = true,
	.device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |
			    IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SRQ_RESIZE |
			    IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_MEM_WINDOW |
			    IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_XRC |
			    IB_DEVICE_ATOMIC_WRITE |
			    (TERN_CORE_HAS_FLUSH ? FLUSH_CAPS : 0),
	.odp_rc = ODP_RELIABLE,
	.odp_ud = TERN_ODP_CAPS(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
				IB_ODP_SUPPORT_SRQ_RECV),
	.odp_xrc = ODP_RELIABLE,
};

/* What the QP's type and create flags must be. */
static int roce_qp_check(struct tern_dev *dev, const struct ib_qp_init_attr *init)
{
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_GSI:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		break;
	default:
		return -EOPNOTSUPP;
	}
	/* verbs/ has left only the one that is about multicast */
	return init->create_flags && init->qp_type != IB_QPT_UD ? -EINVAL : 0;
}

static int roce_ah_init(struct tern_dev *dev, struct tern_av *av, bool sleepable)
{
	struct roce_path path;

	/* Refuse now what no packet could be sent to. */
	return roce_path_init(dev, &path, &av->attr, 0, 0);
}

const struct tern_transport_ops tern_roce_transport = {
	.link_type = "tern_roce",
	.part_id = 1,
	.node_type = RDMA_NODE_IB_CA,
	.qp_bytes = sizeof(struct roce_qp),
	/* By InfiniBand's book it would be minutes, with rdma_cm's defaults. */
	.peer_timeout_s = 60,
	.ib_ops = &roce_dev_ops,
	.limits = &limits,
	.port_immutable = roce_port_immutable,
	.enable = roce_dev_enable,
	.dev_start = roce_dev_start,
	.dev_stop = roce_dev_stop,
	.congestion_show = roce_congestion_show,
	.congestion_set = roce_congestion_set,
	.add_gid = roce_add_gid,
	.del_gid = roce_del_gid,
	.qp_check = roce_qp_check,
	.qp_create = roce_qp_create,
	.qp_may_modify = ib_modify_qp_is_ok,
	.qp_modify = roce_qp_modify,
	.qp_query = roce_qp_query,
	.qp_dump = roce_qp_dump,
	.qp_way = roce_way_name,
	.qp_quiesce = roce_qp_quiesce,
	.qp_release = roce_qp_release,
	.qp_doorbell = roce_qp_doorbell,
	.qp_resume = roce_qp_resume,
	.ah_init = roce_ah_init,
	.mcast_attach = roce_qp_attach,
	.mcast_detach = roce_mcast_detach,
};

int __init tern_roce_init(void)
{
	int ret;

	if (!roce_tx_try_batch())
		pr_info("this kernel accounts for GSO lists wrongly: RoCE packets go to it one by one\n");
	ret = roce_wq_create();
	if (ret)
		return ret;
	ret = roce_net_init();
	if (ret)
		roce_wq_destroy();
	return ret;
}

void tern_roce_exit(void)
{
	roce_net_exit();
	roce_wq_destroy();
}
