/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel consumers begin with: the device of a netdev, its GID, and QPs that are connected
 * without a CM over RoCEv2. For the test modules here and for bench/native/module. All may sleep,
 * and return 0 or an error of ib_core's, if nothing else is said.
 */
#ifndef TERN_TEST_CONSUMER_H
#define TERN_TEST_CONSUMER_H

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define CONSUMER_PORT 1
#define CONSUMER_PSN  0x1234
#define CONSUMER_QKEY 0x11111111 /* of datagrams */
#define CONSUMER_ACCESS                                                                            \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                  \
	 IB_ACCESS_REMOTE_ATOMIC)

/* The RDMA device on a netdev of the first namespace, held: ib_device_put(). NULL: none. */
static inline struct ib_device *consumer_find_device(const char *netdev)
{
	struct net_device *ndev = dev_get_by_name(&init_net, netdev);
	struct ib_device *dev;

	if (!ndev)
		return NULL;
	dev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	dev_put(ndev);
	return dev;
}

/* The device's first GID of RoCEv2 over IPv4, held: rdma_put_gid_attr(). */
static inline const struct ib_gid_attr *consumer_find_gid(struct ib_device *dev)
{
	const struct ib_gid_attr *attr;
	u32 i;

	for (i = 0; i < dev->port_data[CONSUMER_PORT].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(dev, CONSUMER_PORT, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)&attr->gid))
			return attr;
		rdma_put_gid_attr(attr);
	}
	return ERR_PTR(-EADDRNOTAVAIL);
}

/* ---- the states of an RC, UC or UD QP ---- */

static inline int consumer_to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = CONSUMER_PORT,
		.qp_access_flags = CONSUMER_ACCESS,
		.qkey = CONSUMER_QKEY,
	};
	int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;

	return ib_modify_qp(qp, &attr,
			    mask | (qp->qp_type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS));
}

/* A UD QP has no peer. */
static inline int consumer_to_rtr(struct ib_qp *qp, const struct ib_gid_attr *gid,
				  const struct ib_qp *peer, const struct ib_gid_attr *peer_gid,
				  enum ib_mtu mtu)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = peer->qp_num,
		.rq_psn = CONSUMER_PSN,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE,
	};
	union ib_gid dgid = peer_gid->gid;
	struct net_device *ndev;
	int mask = IB_QP_STATE;

	rdma_ah_set_port_num(&attr.ah_attr, CONSUMER_PORT);
	rdma_ah_set_grh(&attr.ah_attr, &dgid, 0, gid->index, 64, 0);
	/* Kernel consumers set it. rxe uses it to recognise itself as the peer. */
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(peer_gid);
	if (!IS_ERR(ndev))
		ether_addr_copy(attr.ah_attr.roce.dmac, ndev->dev_addr);
	rcu_read_unlock();
	if (qp->qp_type != IB_QPT_UD)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return ib_modify_qp(qp, &attr, mask);
}

/* timeout: InfiniBand's exponent, 4.096 us * 2^timeout. */
static inline int consumer_to_rts(struct ib_qp *qp, u8 timeout)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = CONSUMER_PSN,
		.max_rd_atomic = 16,
	};
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;

	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(qp, &attr, mask);
}

#endif
