/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups: which QPs of a device are attached to which group, the
 * membership of the device's netdev, and the delivery of a received packet.
 */
#ifndef TERN_ROCE_WIRE_MCAST_H
#define TERN_ROCE_WIRE_MCAST_H

struct list_head;
struct roce_dest;
struct roce_dev;
struct roce_net;
struct roce_rx;
struct roce_rx_series;
struct tern_dev;
struct tern_qp;
union ib_gid;

int roce_mcast_net_init(struct roce_net *rn);
void roce_mcast_net_uninit(struct roce_net *rn);
void roce_mcast_dev_init(struct roce_dev *rd);
void roce_mcast_dev_uninit(struct roce_dev *rd);

/*
 * memberships: a list of the QP's own, initialised, which only these three use. Process
 * context; they sleep and take the RTNL. Attaching twice is attaching once.
 */
int roce_mcast_attach(struct tern_qp *qp, struct list_head *memberships, const union ib_gid *mgid);
int roce_mcast_detach(struct tern_qp *qp, const union ib_gid *mgid);
/* The QP is being destroyed, and is not attached any more. */
void roce_mcast_detach_all(struct tern_qp *qp, struct list_head *memberships);

/* A device with members in the group, for accounting what comes next. Under RCU. */
struct tern_dev *roce_mcast_find(struct roce_net *rn, const union ib_gid *mgid, int iif);
/* Give rx to every QP that is attached to to->gid and wants it; ends rx. Under RCU, BHs off. */
void roce_mcast_deliver(struct roce_net *rn, const struct roce_dest *to, struct roce_rx *rx,
			struct roce_rx_series *series);

#endif
