/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract of a transport, and the only way from verbs/ into one. Verbs
 * validate what all transports agree on (sizes, limits, legal state
 * transitions), build the objects and rings, and call the transport for the
 * rest.
 */
#ifndef TERN_CORE_TRANSPORT_H
#define TERN_CORE_TRANSPORT_H

#include <linux/init.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "mem/odp.h"

struct tern_av;
struct tern_dev;
struct tern_dump_qp;
struct tern_qp;

/* enum ib_odp_transport_cap_bits, if the kernel can. */
#define TERN_ODP_CAPS(caps) (TERN_ODP_BUILT ? (caps) : 0)

/* Limits that the device reports; one table per transport. */
struct tern_limits {
	u32 max_qp, max_cq, max_mr, max_pd, max_ah, max_srq, max_mw;
	u32 max_xrcd;			/* 0: the device has no XRC */
	u32 max_qp_wr, max_srq_wr, max_cqe;
	u32 max_rd_atomic;		/* per QP, as initiator and as responder */
	u32 max_mcast_grp, max_mcast_qp_attach;
	u32 gid_tbl_len, pkey_tbl_len;
	u32 max_msg_bytes;		/* 2^31 for RoCE */
	u64 device_cap_flags;
	bool rate_limits;		/* QPs take IB_QP_RATE_LIMIT */
	/* Memory on demand: enum ib_odp_transport_cap_bits of RC, UD and XRC. 0: none */
	u32 odp_rc, odp_ud, odp_xrc;
};

/* Of a congestion control's name, with its NUL: TCP's limit. */
#define TERN_CONGESTION_NAME_BYTES	16

struct tern_transport_ops {
	const char *link_type;			/* "tern_roce", "tern_iwarp" */
	u32 part_id;				/* ib_device_attr.vendor_part_id: each its own */
	u8 node_type;				/* RDMA_NODE_* */
	size_t qp_bytes;			/* size of its QP, struct tern_qp first */
	bool any_netdev;			/* false: Ethernet interfaces only */
	u32 peer_timeout_s;			/* of a new device; core/sysfs.c */
	const struct ib_device_ops *ib_ops;	/* verbs of its own kind; NULL: none */
	const struct tern_limits *limits;

	/* ib_port_immutable.core_cap_flags, max_mad_size and the rest */
	void (*port_immutable)(struct tern_dev *dev, struct ib_port_immutable *immutable);
	/*
	 * Called from ib_device_ops.enable_driver: registered, no client yet.
	 * May correct the port's immutables (see roce/wire/port.c). NULL: nothing.
	 */
	int (*enable)(struct tern_dev *dev);

	/* Sockets, per-device state. On error it logs one line that says what to do. */
	int (*dev_start)(struct tern_dev *dev);
	void (*dev_stop)(struct tern_dev *dev);	/* all objects are gone; no packet finds dev then */
	/* netdev changes (MTU, state): optional */
	void (*dev_changed)(struct tern_dev *dev);

	/*
	 * The device's congestion control, for its file congestion_control (core/sysfs.c): its
	 * name, into TERN_CONGESTION_NAME_BYTES; and one by name, for connections from then on.
	 * -ENOENT: the transport has none of that name. May sleep.
	 */
	void (*congestion_show)(struct tern_dev *dev, char *name);
	int (*congestion_set)(struct tern_dev *dev, const char *name);

	int (*add_gid)(const struct ib_gid_attr *attr, void **context);
	int (*del_gid)(const struct ib_gid_attr *attr, void **context);

	/* Is this kind of QP served (type, create_flags)? 0 or -EOPNOTSUPP/-EINVAL. */
	int (*qp_check)(struct tern_dev *dev, const struct ib_qp_init_attr *init);
	/* Engine state, timers, accounting socket. The generic part is complete. */
	int (*qp_create)(struct tern_qp *qp, const struct ib_qp_init_attr *init);
	/* Is the transition legal with the attributes in mask? Called before qp_modify. */
	bool (*qp_may_modify)(enum ib_qp_state cur, enum ib_qp_state next, enum ib_qp_type type,
			      enum ib_qp_attr_mask mask);
	/*
	 * The transition is legal; the attributes are within limits and validated. When called, cur
	 * == qp->state, but the state may change to ERR concurrently: the transport takes run_lock
	 * and decides. A change to ERR comes from any state, with or without attributes, also
	 * during quiesce.
	 */
	int (*qp_modify)(struct tern_qp *qp, const struct ib_qp_attr *attr, int mask,
			 enum ib_qp_state cur, enum ib_qp_state next);
	/* How a QP's messages go, for people to read. NULL, also as a result: nothing to say. */
	const char *(*qp_way)(const struct tern_qp *qp);
	void (*qp_query)(struct tern_qp *qp, struct ib_qp_attr *attr, int mask);
	/* For a raw dump: tern_qp_dump(), and what only the transport knows. Else *dump is 0. */
	void (*qp_dump)(struct tern_qp *qp, struct tern_dump_qp *dump);
	/* The QP is unpublished. After return nothing touches its queues or CQs. */
	void (*qp_quiesce)(struct tern_qp *qp);
	/* There are no references. Releases what qp_create made. May sleep. */
	void (*qp_release)(struct tern_qp *qp);

	/*
	 * Work was posted (or TERN_RING_F_KICK): run the QP here. Any context, IRQs possibly off
	 * (ib_mad posts so). May race with or follow qp_quiesce(): the caller holds only a
	 * reference. The caller is the program that posted, so the run may take its time.
	 */
	void (*qp_doorbell)(struct tern_qp *qp);

	/* Pages have come for a run that was blocked. Process context. NULL: none on demand. */
	void (*qp_resume)(struct tern_qp *qp);

	/* UD. All NULL: the device has no address handles and no multicast. */
	/* Completes av from av->attr (which ib_core resolved). May not sleep if !sleepable. */
	int (*ah_init)(struct tern_dev *dev, struct tern_av *av, bool sleepable);

	int (*mcast_attach)(struct tern_qp *qp, const union ib_gid *mgid);
	int (*mcast_detach)(struct tern_qp *qp, const union ib_gid *mgid);
};

extern const struct tern_transport_ops tern_roce_transport;
extern const struct tern_transport_ops tern_iwarp_transport;

/* Once per module, for the state of network namespaces. */
int __init tern_roce_init(void);
void tern_roce_exit(void);
int tern_iwarp_init(void);
void tern_iwarp_exit(void);

#endif
