/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tern device, from allocation to its end. link/ decides when there is one;
 * verbs/ has what ib_core calls, the transport what the device does.
 */
#ifndef TERN_CORE_DEVICE_H
#define TERN_CORE_DEVICE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "mem/keys.h"

#ifndef TERN_VERSION
#define TERN_VERSION "0.1.0"
#endif

/* There is no hardware, so there is no second version of it. */
#define TERN_HW_VER	0

struct tern_qp;
struct tern_stats;
struct tern_transport_ops;

struct tern_dev {
	struct ib_device ibdev;
	const struct tern_transport_ops *transport;
	u32 peer_timeout_s;		/* core/sysfs.c; read with READ_ONCE() */
	struct net_device *netdev;	/* held from creation to the end of dealloc_driver */
	netdevice_tracker netdev_tracker;
	struct net *net;		/* netns of netdev; the link dies before it */
	struct tern_keys keys;
	struct xarray qps;		/* QPN -> struct tern_qp, RCU */
	/* By QP number modulo the array's size: the QP published last. */
	struct tern_qp __rcu *newest_qp[256];
	u32 next_qpn;
	struct xarray srqs;		/* number -> struct tern_srq_handle, RCU */
	struct xarray ahs;		/* index -> struct tern_av, RCU */
	struct tern_stats __percpu *stats;	/* of QPs that are bound to no set, and of none */
	struct tern_stats *past_stats;	/* of sets that are gone, for pma.c; under stats_lock */
	struct mutex stats_lock;	/* sets that end, and sums over all */
	struct xarray stats_sets;	/* number -> struct tern_stats_set; core/stats.c */
	unsigned long *optional_stats;	/* enum tern_counter: bits of those that are on */
	struct list_head link_list;	/* link/: all links */
	struct work_struct port_work;	/* link/: port events out of notifier context */
	u8 port_state;			/* enum ib_port_state last reported */
	bool started;			/* transport->dev_start succeeded */
	bool ending;			/* QPs do not leave RESET and ERR */
	bool netdev_gone;		/* link/: unregister as soon as registered */
	atomic_t port_cap_flags;	/* as ib_modify_port() left them */
	u32 next_ah, next_srqn;
	atomic_t num_pd, num_mr, num_mw, num_cq, num_srq, num_xrcd;
	atomic_t num_dm_pages;
	atomic_t num_qp;		/* until struct tern_qp is released */
	void *transport_data;		/* transport's per-device state */
};

static inline struct tern_dev *to_tern_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct tern_dev, ibdev);
}

/*
 * A device for netdev, not yet registered. It holds the netdev. rtnl is held, netdev registered.
 * The caller adds the verbs and dealloc_driver to its ops; dealloc_driver must end with
 * tern_device_destroy(). Until registration has succeeded, ib_dealloc_device() disposes of the
 * device, afterwards ib_unregister_device*(). ERR_PTR.
 */
struct tern_dev *tern_device_create(const struct tern_transport_ops *transport,
				    struct net_device *netdev);

/*
 * Starts the transport and registers with ib_core. On success the device may be gone on return, if
 * somebody unregistered it. Sleeps; rtnl not held.
 */
int tern_device_register(struct tern_dev *dev, const char *name);

/* In dealloc_driver: ends everything of the device except its memory. Sleeps. */
void tern_device_destroy(struct tern_dev *dev);

#endif
