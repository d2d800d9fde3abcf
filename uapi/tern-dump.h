/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/*
 * What the kernel's raw dumps of a device's objects contain (`rdma resource show ... -r`, netlink
 * RDMA_NLDEV_ATTR_RES_RAW): one structure for each object, by its kind. For debugging. They show
 * where an object stands at one moment, and hold neither keys nor kernel addresses.
 *
 * Each begins with a tern_dump_hdr. Members are only ever appended: a reader uses the first
 * hdr.bytes that it knows. A member that changes its meaning raises hdr.version.
 *
 * All integers are in host byte order. Indices are free-running 32-bit counters.
 */
#ifndef TERN_DUMP_H
#define TERN_DUMP_H

#include <linux/types.h>

#define TERN_DUMP_VERSION	1

enum tern_dump_kind {
	TERN_DUMP_QP	= 1,
	TERN_DUMP_CQ	= 2,
	TERN_DUMP_MR	= 3,
	TERN_DUMP_SRQ	= 4,
};

struct tern_dump_hdr {
	__u16 kind;		/* enum tern_dump_kind */
	__u16 version;		/* TERN_DUMP_VERSION */
	__u32 bytes;		/* of the whole structure, this header included */
};

/*
 * A queue of WQEs. prod - taken: posted, and not begun. taken - retired: begun, and not complete.
 */
struct tern_dump_queue {
	__u32 wqes;		/* that fit; 0: there is no such queue */
	__u32 prod;		/* as the poster has published it, which may be nonsense */
	__u32 taken;
	__u32 retired;		/* receive queues: as taken */
};

enum tern_dump_qp_flags {
	TERN_DUMP_QP_USER	= 1 << 0,
	TERN_DUMP_QP_REQUESTER	= 1 << 1,	/* the requester's members are valid */
	TERN_DUMP_QP_RESPONDER	= 1 << 2,	/* the responder's members are valid */
	TERN_DUMP_QP_IN_MESSAGE	= 1 << 3,	/* a received message is not complete */
	TERN_DUMP_QP_RECV_WAITS	= 1 << 4,	/* what came waits for a receive WQE or pages */
	TERN_DUMP_QP_LOCAL	= 1 << 5,	/* RoCE: requests go without packets */
};

struct tern_dump_qp {
	struct tern_dump_hdr hdr;
	__u32 qpn;
	__u32 dest_qpn;		/* RC, UC, XRC of RoCE */
	__u8  type;		/* enum ib_qp_type */
	__u8  state;		/* enum ib_qp_state */
	__u16 flags;		/* enum tern_dump_qp_flags */
	__u32 marks;		/* events that the holder of the run lock has not seen yet */
	struct tern_dump_queue sq;
	struct tern_dump_queue rq;
	/* requester */
	__u32 unsent;		/* WQEs taken, and not sent to their end */
	__u32 next_psn;		/* RoCE */
	__u32 oldest_psn;	/* RoCE: the first that is not acknowledged */
	__u32 window_packets;	/* RoCE: that may be under way */
	__u8  retries_left;	/* RoCE */
	__u8  rnr_retries_left;	/* RoCE */
	__u16 path_mtu;		/* RoCE: bytes; of either half */
	/* responder */
	__u32 expected_psn;	/* RoCE */
	__u32 backlog_packets;	/* RoCE: received, and not handled yet */
	__u32 kept_packets;	/* RoCE: of the request that waits, and of those behind it */
	__u32 terminate;	/* iWARP: of the Terminate sent, layer << 12 | type << 8 | code */
	__u32 ahead_packets;	/* RoCE: requests and answers that came before their turn */
};

enum tern_dump_cq_flags {
	TERN_DUMP_CQ_USER		= 1 << 0,
	TERN_DUMP_CQ_OVERRUN		= 1 << 1,	/* no further CQE is written */
	TERN_DUMP_CQ_IGNORE_OVERRUN	= 1 << 2,
	TERN_DUMP_CQ_WALLCLOCK		= 1 << 3,
	TERN_DUMP_CQ_MODERATED		= 1 << 4,
};

struct tern_dump_cq {
	struct tern_dump_hdr hdr;
	__u32 cqes;		/* that fit */
	__u32 prod;		/* CQEs written */
	__u32 cons;		/* CQEs polled, as the consumer has published it */
	__u32 arm;		/* enum tern_cq_arm, as the consumer and the kernel have left it */
	__u32 flags;		/* enum tern_dump_cq_flags */
	__u32 event_count;	/* moderation: completions for an event */
	__u32 event_period_us;	/* moderation */
	__u32 event_pending;	/* completions that an event waits for */
};

enum tern_dump_mr_kind {
	TERN_DUMP_MR_USER	= 0,	/* pinned */
	TERN_DUMP_MR_DMA	= 1,	/* all of kernel memory */
	TERN_DUMP_MR_ON_DEMAND	= 2,
	TERN_DUMP_MR_FAST	= 3,	/* of a kernel consumer */
	TERN_DUMP_MR_MAPPED	= 4,	/* a dma-buf, or device memory */
};

enum tern_dump_mr_state {
	TERN_DUMP_MR_FREE	= 0,	/* lets nothing through */
	TERN_DUMP_MR_VALID	= 1,
	TERN_DUMP_MR_CLOSING	= 2,
	TERN_DUMP_MR_DEAD	= 3,
};

struct tern_dump_mr {
	struct tern_dump_hdr hdr;
	__aligned_u64 iova;
	__aligned_u64 length;	/* bytes */
	__u32 access;		/* enum ibv_access_flags */
	__u8  kind;		/* enum tern_dump_mr_kind */
	__u8  state;		/* enum tern_dump_mr_state */
	__u16 block_shift;	/* blocks have 1 << block_shift bytes */
	__u32 blocks;
	__u32 bound_windows;
	__u32 odp_tables;	/* on demand: tables of pages */
	__u32 reserved;		/* 0 */
};

struct tern_dump_srq {
	struct tern_dump_hdr hdr;
	__u32 srqn;
	__u32 limit;		/* the limit event comes below; 0: not armed */
	struct tern_dump_queue rq;
	__u32 max_sge;
	__u32 is_xrc;
};

#endif
