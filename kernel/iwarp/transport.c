// SPDX-License-Identifier: GPL-2.0
/*
 * The iWARP transport as verbs/, device.c and link/ see it: its limits, its
 * table of operations, its few verbs of its own.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "core/port.h"
#include "core/qp.h"
#include "core/sysfs.h"
#include "core/transport.h"
#include "iwarp/cm/active.h"
#include "iwarp/cm/congestion.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/passive.h"
#include "iwarp/cm/request.h"
#include "iwarp/stream/cmref.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/gate.h"
#include "iwarp/stream/qp.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/zerocopy.h"

static const struct tern_limits limits = {
	.max_qp = 65536,
	.max_cq = 65536,
	.max_mr = 1 << 20,
	.max_pd = 32768,
	.max_srq = 32768,
	.max_mw = 1 << 20,
	.max_qp_wr = 32768,
	.max_srq_wr = 32768,
	.max_cqe = 1 << 20,
	.max_rd_atomic = IW_MAX_RD_ATOMIC,
	.gid_tbl_len = 1,
	.max_msg_bytes = 1u << 31,
	.device_cap_flags = IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SRQ_RESIZE |
			    IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_MEM_WINDOW |
			    IB_DEVICE_MEM_WINDOW_TYPE_2B,
};

static void iw_port_immutable(struct tern_dev *dev, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
}

/*
 * The netdev's hardware address, by which rdma_cm finds its device. Without one
 * something of our own: ib_core takes no GID of zeros for one.
 */
static int iw_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	struct tern_dev *dev = to_tern_dev(ibdev);
	const struct net_device *netdev = dev->netdev;

	if (port != 1 || index)
		return -EINVAL;
	memset(gid, 0, sizeof(*gid));
	if (tern_netdev_has_address(netdev))
		memcpy(gid->raw, netdev->dev_addr, min_t(u8, netdev->addr_len, sizeof(*gid)));
	else
		memcpy(gid->raw, &ibdev->node_guid, sizeof(ibdev->node_guid));
	return 0;
}

static struct attribute *iw_dev_attrs[] = {
	TERN_DEV_ATTRS,
	NULL
};

static const struct attribute_group iw_dev_group = {
	.attrs = iw_dev_attrs,
};

static const struct ib_device_ops iw_ib_ops = {
	.device_group = &iw_dev_group,
	.iw_accept = iw_accept,
	.iw_add_ref = iw_qp_add_ref,
	.iw_connect = iw_connect,
	.iw_create_listen = iw_create_listen,
	.iw_destroy_listen = iw_destroy_listen,
	.iw_get_qp = iw_get_qp,
	.iw_reject = iw_reject,
	.iw_rem_ref = iw_qp_rem_ref,
	.query_gid = iw_query_gid,
};

static int iw_dev_start(struct tern_dev *dev)
{
	struct iw_dev *iw = kmalloc(sizeof(*iw), GFP_KERNEL);

	if (!iw)
		return -ENOMEM;
	iw_gate_init(&iw->gate, dev->netdev);
	atomic_set(&iw->acks_waiting, 0);
	iw_congestion_init(iw);
	dev->transport_data = iw;
	strscpy(dev->ibdev.iw_ifname, dev->netdev->name, sizeof(dev->ibdev.iw_ifname));
	/* Real ports are TCP's: nothing to map. */
	dev->ibdev.iw_driver_flags = IW_F_NO_PORT_MAP;
	if (TERN_RDMA_CM_GOES_BY_ADDRESS && !tern_netdev_has_address(dev->netdev))
		pr_warn("tern: %s has no hardware address, by which this kernel's rdma_cm finds a link; connecting takes one (ip link set %s address ...)\n",
			dev->netdev->name, dev->netdev->name);
	return 0;
}

/* ib_core caches the GID; a new address makes a new one. */
static void iw_dev_changed(struct tern_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};
	union ib_gid known, now;

	if (rdma_query_gid(&dev->ibdev, 1, 0, &known) ||
	    iw_query_gid(&dev->ibdev, 1, 0, &now) || memcmp(&known, &now, sizeof(now)))
		ib_dispatch_event(&event);
}

/* Every QP is gone, and with each its endpoint; listeners are iw_cm's, gone before. */
static void iw_dev_stop(struct tern_dev *dev)
{
	iw_requests_end(dev);
	iw_ep_flush();
	iw_gate_uninit(&iw_dev(dev)->gate);
	WARN_ON(atomic_read(&iw_dev(dev)->acks_waiting));
	kfree(iw_dev(dev));
	dev->transport_data = NULL;
}

static int iw_qp_check(struct tern_dev *dev, const struct ib_qp_init_attr *init)
{
	if (init->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	return init->create_flags ? -EOPNOTSUPP : 0;
}

static void iw_qp_doorbell(struct tern_qp *qp)
{
	iw_kick(to_iw_qp(qp));
}

const struct tern_transport_ops tern_iwarp_transport = {
	.link_type = "tern_iwarp",
	.part_id = 2,
	.node_type = RDMA_NODE_RNIC,
	.qp_bytes = sizeof(struct iw_qp),
	.limits = &limits,
	.any_netdev = true,
	/* Storage gives a server up after one to three minutes, TCP alone after 15. */
	.peer_timeout_s = 120,
	.ib_ops = &iw_ib_ops,
	.port_immutable = iw_port_immutable,
	.dev_start = iw_dev_start,
	.dev_stop = iw_dev_stop,
	.dev_changed = iw_dev_changed,
	.congestion_show = iw_congestion_show,
	.congestion_set = iw_congestion_set,
	.qp_check = iw_qp_check,
	.qp_create = iw_qp_create,
	.qp_may_modify = iw_qp_may_modify,
	.qp_modify = iw_qp_modify,
	.qp_query = iw_qp_query,
	.qp_dump = iw_qp_dump,
	.qp_quiesce = iw_qp_quiesce,
	.qp_release = iw_qp_release,
	.qp_doorbell = iw_qp_doorbell,
};

int tern_iwarp_init(void)
{
	int err = iw_defer_init();

	if (err)
		return err;
	err = iw_ep_init();
	if (err)
		iw_defer_exit();
	return err;
}

void tern_iwarp_exit(void)
{
	iw_zc_exit();
	iw_ep_exit();
	iw_defer_exit();
}
