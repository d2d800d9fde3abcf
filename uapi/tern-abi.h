/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/*
 * The contract between tern.ko, the libibverbs provider and the tests: rings
 * that kernel and user space share, the WQE and CQE layouts in them, and the
 * driver-private parts (udata) of the uverbs commands.
 *
 * Every structure has explicit padding and no pointer, and is the same for 32
 * and 64 bit. selftests/unit/abi_test.cc and kernel/queue/ assert that. All
 * integers are in host byte order unless typed __be32.
 */
#ifndef TERN_ABI_H
#define TERN_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * ib_device.ops.uverbs_abi_ver. It is raised only when an old provider cannot work with a new
 * module; feature bits announce additions.
 */
#define TERN_ABI_VERSION	1

/* VERBS_DRIVER_ID: private to tern, far from the enum rdma_driver_id range. */
#define TERN_DRIVER_ID		0x7465726e

/* ---- limits, compiled in by both sides; the device reports them too ---- */
#define TERN_MAX_SGE		32
#define TERN_MAX_INLINE		512
#define TERN_WQE_ALIGN		64

/* ---- rings ----
 *
 * A ring is one mapping: a tern_ring_hdr, then `slots` entries of `stride`
 * bytes. Indices are free-running 32-bit counters, masked at use; slots is a
 * power of two, so prod - cons is the fill level, wrap included. Each word has
 * one writer; it is published with release and read with acquire order.
 *
 *   SQ, RQ, SRQ: user space produces, the kernel consumes.
 *   CQ:          the kernel produces, user space consumes.
 *
 * The kernel never trusts a word that user space can write: it keeps its own
 * copy of the indices it owns and refuses fill levels above `slots`.
 */
struct tern_ring_hdr {
	__u32 prod;		/* written by the producer */
	__u32 pad0[15];
	__u32 cons;		/* written by the consumer */
	__u32 pad1[15];
	__u32 flags;		/* written by the kernel: TERN_RING_F_* */
	__u32 pad2[15];
	__u32 arm;		/* CQ: written by user space and the kernel (xchg): TERN_CQ_ARM_* */
	__u32 pad3[15];
};
#define TERN_RING_HDR_BYTES	256

enum tern_ring_flags {
	/*
	 * SQ: the kernel is draining this ring and will look at prod again (after a full barrier)
	 * before it stops, so no doorbell call is needed. A poster stores prod, executes a full
	 * barrier, then reads flags.
	 */
	TERN_RING_F_DRAINING	= 1u << 0,
	/*
	 * CQ: overrun. No further CQE comes (IBV_EVENT_CQ_ERR was raised). Not if the CQ was
	 * created to ignore overruns: there prod runs away from cons by more than slots, and each
	 * slot has the newest CQE that was written to it.
	 */
	TERN_RING_F_DEAD	= 1u << 1,
	/*
	 * RQ: a message waits for a WQE, or the QP is in the error state, and the kernel will not
	 * look at the ring soon. A poster stores prod, executes a full barrier, reads flags and, if
	 * this is set, rings the QP's doorbell.
	 */
	TERN_RING_F_KICK	= 1u << 2,
};

/*
 * CQ arming without a system call. User space exchanges one of these in (it never weakens the
 * present value), executes a full barrier, and polls once more. The kernel publishes a CQE and
 * executes a full barrier. If the word matches, it takes it with xchg(NONE) and raises the
 * completion event. ANY also covers SOLICITED.
 */
enum tern_cq_arm {
	TERN_CQ_ARM_NONE	= 0,
	TERN_CQ_ARM_SOLICITED	= 1,
	TERN_CQ_ARM_ANY		= 2,
};

/* ---- work requests ---- */
struct tern_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/*
 * The lkey of the null region: at any address it gives zeros, and what is written there is
 * discarded. It is the same in all PDs, and no rkey. Other keys are above 0xff.
 */
#define TERN_NULL_LKEY		0xff

enum tern_wr_opcode {
	TERN_WR_RDMA_WRITE		= 0,
	TERN_WR_RDMA_WRITE_WITH_IMM	= 1,
	TERN_WR_SEND			= 2,
	TERN_WR_SEND_WITH_IMM		= 3,
	TERN_WR_RDMA_READ		= 4,
	TERN_WR_ATOMIC_CMP_AND_SWP	= 5,
	TERN_WR_ATOMIC_FETCH_AND_ADD	= 6,
	TERN_WR_LOCAL_INV		= 7,
	TERN_WR_BIND_MW			= 8,
	TERN_WR_SEND_WITH_INV		= 9,
	TERN_WR_REG_MR			= 10,	/* kernel consumers only */
	TERN_WR_RDMA_READ_WITH_INV	= 11,	/* kernel consumers only (iWARP) */
	TERN_WR_FLUSH			= 12,	/* TERN_FEATURE_FLUSH; user space only */
	TERN_WR_ATOMIC_WRITE		= 13,	/* TERN_FEATURE_ATOMIC_WRITE */
	TERN_WR_OPCODES
};

enum tern_send_flags {
	TERN_SEND_FENCE		= 1u << 0,
	TERN_SEND_SIGNALED	= 1u << 1,
	TERN_SEND_SOLICITED	= 1u << 2,
	TERN_SEND_INLINE	= 1u << 3,
};
#define TERN_SEND_FLAGS_ALL	0x0fu

/*
 * Send WQE: this header, then num_sge SGEs, or with TERN_SEND_INLINE inline_bytes of data (num_sge
 * is 0 then). LOCAL_INV, BIND_MW, REG_MR and FLUSH have neither. Atomics have exactly one SGE of 8
 * bytes. ATOMIC_WRITE has 8 bytes, as one SGE or inline.
 */
struct tern_send_wqe {
	__aligned_u64 wr_id;
	__u8  opcode;			/* enum tern_wr_opcode */
	__u8  flags;			/* TERN_SEND_* */
	__u16 num_sge;
	__u32 inline_bytes;
	union {
		__be32 imm;		/* *_WITH_IMM, as on the wire */
		__u32  inv_key;		/* *_WITH_INV: remote key; LOCAL_INV: local key */
	};
	__u32 srqn;			/* XRC: number of the peer's SRQ; else 0 */
	union {
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 reserved;
		} rdma;
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
			__u32 rkey;
			__u32 reserved;
		} atomic;
		struct {
			__u32 ah;	/* index from tern_create_ah_resp */
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 pkey_index;	/* GSI QP only, else 0 */
		} ud;
		struct {
			__aligned_u64 addr;	/* of the first byte, in the region's terms */
			__aligned_u64 length;	/* 0: unbind (type 1 only) */
			__u32 mw_rkey;		/* the window's present rkey */
			__u32 new_rkey;		/* key after the bind: same index, new low byte */
			__u32 mr_lkey;		/* region behind the window */
			__u32 access;		/* IBV_ACCESS_* */
		} mw;
		struct {
			__u32 mr_key;	/* present lkey of the fast-register MR */
			__u32 new_key;	/* same index, any low byte */
			__u32 access;
			__u32 reserved;
		} reg;
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 bytes;		/* TERN_FLUSH_RANGE: at most 2^31 */
			__u8  placement;	/* TERN_FLUSH_GLOBAL, _PERSISTENT or both */
			__u8  selectivity;	/* enum tern_flush_selectivity */
			__u16 reserved0;
			__u32 reserved;
		} flush;
		__aligned_u64 reserved[5];
	};
};
#define TERN_SEND_WQE_BYTES	64

/* The values of enum ibv_placement_type and enum ibv_selectivity_level. */
enum tern_flush_placement {
	TERN_FLUSH_GLOBAL	= 1u << 0,
	TERN_FLUSH_PERSISTENT	= 1u << 1,
};

enum tern_flush_selectivity {
	TERN_FLUSH_RANGE	= 0,
	TERN_FLUSH_REGION	= 1,	/* all of it; remote_addr and bytes are ignored */
};

struct tern_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	/* struct tern_sge sge[num_sge] */
};
#define TERN_RECV_WQE_BYTES	16

/* ---- completions ---- */

/* The values of enum ibv_wc_opcode. */
enum tern_wc_opcode {
	TERN_WC_SEND		= 0,
	TERN_WC_RDMA_WRITE	= 1,
	TERN_WC_RDMA_READ	= 2,
	TERN_WC_COMP_SWAP	= 3,
	TERN_WC_FETCH_ADD	= 4,
	TERN_WC_BIND_MW		= 5,
	TERN_WC_LOCAL_INV	= 6,
	TERN_WC_FLUSH		= 8,
	TERN_WC_ATOMIC_WRITE	= 9,
	TERN_WC_REG_MR		= 127,	/* kernel consumers only, in no ring of a program */
	TERN_WC_RECV		= 128,
	TERN_WC_RECV_RDMA_WITH_IMM = 129,
};

enum tern_wc_flags {
	TERN_WC_GRH		= 1u << 0,
	TERN_WC_WITH_IMM	= 1u << 1,
	TERN_WC_WITH_INV	= 1u << 3,
	TERN_WC_WITH_SMAC	= 1u << 4,
	TERN_WC_WITH_VLAN	= 1u << 5,
	TERN_WC_WITH_NETWORK_HDR = 1u << 6,
};

/* RoCE's values of enum rdma_network_type. */
enum tern_network_hdr {
	TERN_NETWORK_ROCE_V1	= 1,
	TERN_NETWORK_IPV4	= 2,
	TERN_NETWORK_IPV6	= 3,
};

/* One cache line. status is an enum ibv_wc_status. */
struct tern_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp_ns;	/* CLOCK_MONOTONIC_RAW at completion */
	__u32 qp_num;
	__u32 byte_len;
	union {
		__be32 imm;
		__u32  inv_key;
	};
	__u32 src_qp;
	__u8  status;
	__u8  opcode;			/* enum tern_wc_opcode */
	__u16 wc_flags;			/* TERN_WC_* */
	__u16 pkey_index;
	__u16 vlan_id;
	__u32 vendor_err;
	__u8  sl;
	__u8  network_hdr_type;		/* enum tern_network_hdr, if TERN_WC_WITH_NETWORK_HDR */
	__u8  smac[6];
	__u8  reserved[4];
	union {
		__aligned_u64 qp_context;	/* kernel CQs: struct ib_qp * */
		/* user CQs with TERN_CQ_WALLCLOCK: CLOCK_REALTIME at completion; others: 0 */
		__aligned_u64 wallclock_ns;
	};
};
#define TERN_CQE_BYTES		64

/* ---- udata of the uverbs commands ---- */

/* One ring to mmap on the context's command fd. bytes is page-rounded. */
struct tern_mmap {
	__aligned_u64 offset;
	__u32 bytes;
	__u32 slots;		/* power of two */
	__u32 stride;		/* bytes per slot */
	__u32 reserved;
};

enum tern_features {
	/* Every module has these two. Older providers ask for them. */
	TERN_FEATURE_NO_SYSCALL_ARM	= 1u << 0,	/* tern_ring_hdr.arm works */
	TERN_FEATURE_ELISION		= 1u << 1,	/* TERN_RING_F_DRAINING works */
	/* 1u << 2 had a meaning once; do not use it again */
	TERN_FEATURE_DOORBELL_FILE	= 1u << 3,	/* doorbell_fd is valid */
	TERN_FEATURE_NULL_MR		= 1u << 4,	/* TERN_NULL_LKEY works */
	TERN_FEATURE_DEVICE_MEMORY	= 1u << 5,	/* TERN_ATTR_ALLOC_DM_RESP is answered */
	/* Create CQ takes tern_create_cq_req, and IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN. */
	TERN_FEATURE_CQ_OPTIONS		= 1u << 6,
	/* Nothing to use: all bytes of a message are placed in order, not the last ones alone. */
	TERN_FEATURE_IN_ORDER		= 1u << 7,
	TERN_FEATURE_ATOMIC_WRITE	= 1u << 8,	/* TERN_WR_ATOMIC_WRITE, on RoCE */
	TERN_FEATURE_FLUSH		= 1u << 9,	/* TERN_WR_FLUSH, on RoCE */
	/* Modify QP takes IB_QP_RATE_LIMIT and tern_modify_qp_req, on RoCE. */
	TERN_FEATURE_RATE_LIMIT		= 1u << 10,
};

/*
 * On the doorbell file. The argument is the number of a QP of its context. ENOENT: there is no such
 * QP. IB_USER_VERBS_CMD_POST_SEND without a work request is always possible instead.
 */
#define TERN_IOCTL_DOORBELL	_IO(0xe7, 0)

struct tern_alloc_ucontext_req {
	__aligned_u64 features;		/* what the provider knows; other bits are ignored */
};

struct tern_alloc_ucontext_resp {
	__aligned_u64 features;
	__u32 max_inline;
	__u32 max_sge;
	__s32 doorbell_fd;	/* open in the caller, close-on-exec; below 0: none */
	__u32 reserved;
};

/*
 * The driver's attribute of UVERBS_METHOD_QUERY_CONTEXT. With it, a process that was given a
 * context's command file gets the answer to GET_CONTEXT: struct tern_alloc_ucontext_resp, with all
 * existing features, and a descriptor of its own for the context's doorbell file.
 */
#define TERN_ATTR_QUERY_CONTEXT_RESP	0x1000	/* the first of the driver's name space */

/* Device memory, to mmap on the context's command fd. bytes is page-rounded. */
struct tern_dm_resp {
	__aligned_u64 offset;
	__aligned_u64 bytes;
	__aligned_u64 length;	/* as it was allocated */
};

/*
 * The driver's attribute of UVERBS_METHOD_DM_ALLOC, and the driver's method of UVERBS_OBJECT_DM,
 * for a process that was handed the command file and a handle. Both answer with struct
 * tern_dm_resp.
 */
enum tern_dm_ids {
	TERN_ATTR_ALLOC_DM_RESP		= 0x1000,	/* each the first of the driver's own */
	TERN_METHOD_QUERY_DM		= 0x1000,
	TERN_ATTR_QUERY_DM_HANDLE	= 0x1000,
	TERN_ATTR_QUERY_DM_RESP		= 0x1001,
};

enum tern_cq_flags {
	TERN_CQ_WALLCLOCK	= 1u << 0,	/* CQEs have wallclock_ns */
};

/* None: no flag. */
struct tern_create_cq_req {
	__u32 flags;			/* TERN_CQ_* */
	__u32 reserved;
};

struct tern_create_cq_resp {
	struct tern_mmap ring;
};

struct tern_resize_cq_resp {
	struct tern_mmap ring;
};

struct tern_create_srq_resp {
	struct tern_mmap ring;
	__u32 srq_num;
	__u32 reserved;
};

/* A resize answers with the new ring. Only the ioctl form of the command can carry it. */
struct tern_modify_srq_resp {
	struct tern_mmap ring;
};

struct tern_create_qp_resp {
	struct tern_mmap sq;
	struct tern_mmap rq;
	__u32 max_inline;	/* what the SQ's stride holds */
	__u32 reserved;
};

/* May be missing, which is as 0. Without IB_QP_RATE_LIMIT both members are 0. */
struct tern_modify_qp_req {
	__u32 max_burst_bytes;	/* 0: chosen by the module. Rate 0: 0 */
	__u32 reserved;
};

/* The rates that IB_QP_RATE_LIMIT may name, besides 0: none. */
#define TERN_MIN_RATE_KBPS	1
#define TERN_MAX_RATE_KBPS	100000000

struct tern_create_ah_resp {
	__u32 ah;
	__u32 reserved;
};

/*
 * Doorbell: IB_USER_VERBS_CMD_POST_SEND with wr_count 0, sge_count 0 and wqe_size sizeof(struct
 * ib_uverbs_send_wr). It returns when every WQE up to the prod seen is handed over, or when
 * somebody else (another holder of the QP, a work item, the peer's answer, a timer) will continue.
 */

#endif
