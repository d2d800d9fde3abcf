/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct ib_device_ops: newer kernels call some of its functions with other
 * arguments. The driver's functions keep one form; these macros make functions
 * for the table from them. And IBTA's annex A19, which older kernels do not know.
 */
#ifndef TERN_COMPAT_RDMA_IB_VERBS_H
#define TERN_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/version.h>

/*
 * op() calls fn(). From 6.17 on there may be hints for caches, which this driver does not support.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define TERN_REG_USER_MR(op, fn)							\
	static struct ib_mr *op(struct ib_pd *pd, u64 start, u64 length, u64 iova,	\
				int access, struct ib_dmah *dmah, struct ib_udata *udata) \
	{										\
		if (dmah)								\
			return ERR_PTR(-EOPNOTSUPP);					\
		return fn(pd, start, length, iova, access, udata);			\
	}
#else
#define TERN_REG_USER_MR(op, fn)							\
	static struct ib_mr *op(struct ib_pd *pd, u64 start, u64 length, u64 iova,	\
				int access, struct ib_udata *udata)			\
	{										\
		return fn(pd, start, length, iova, access, udata);			\
	}
#endif

/* The same, and from 6.12 on all attributes instead of the driver's input and answer. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define TERN_REG_USER_MR_DMABUF(op, fn)							\
	static struct ib_mr *op(struct ib_pd *pd, u64 offset, u64 length, u64 iova,	\
				int fd, int access, struct ib_dmah *dmah,		\
				struct uverbs_attr_bundle *attrs)			\
	{										\
		if (dmah)								\
			return ERR_PTR(-EOPNOTSUPP);					\
		return fn(pd, offset, length, iova, fd, access);			\
	}
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define TERN_REG_USER_MR_DMABUF(op, fn)							\
	static struct ib_mr *op(struct ib_pd *pd, u64 offset, u64 length, u64 iova,	\
				int fd, int access, struct uverbs_attr_bundle *attrs)	\
	{										\
		return fn(pd, offset, length, iova, fd, access);			\
	}
#else
#define TERN_REG_USER_MR_DMABUF(op, fn)							\
	static struct ib_mr *op(struct ib_pd *pd, u64 offset, u64 length, u64 iova,	\
				int fd, int access, struct ib_udata *udata)		\
	{										\
		return fn(pd, offset, length, iova, fd, access);			\
	}
#endif

/*
 * op(), at TERN_RESIZE_CQ_OP in the table, calls fn(). Older kernels let kernel users call it, too.
 */
#ifdef TERN_HAS_resize_user_cq
#define TERN_RESIZE_CQ_OP resize_user_cq
#define TERN_RESIZE_CQ(op, fn)								\
	static int op(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata)	\
	{										\
		return fn(cq, cqe, udata);						\
	}
#else
#define TERN_RESIZE_CQ_OP resize_cq
#define TERN_RESIZE_CQ(op, fn)								\
	static int op(struct ib_cq *cq, int cqe, struct ib_udata *udata)		\
	{										\
		return cqe < 0 ? -EINVAL : fn(cq, cqe, udata);				\
	}
#endif

/*
 * op() calls fn(). Newer kernels name the port, of which there is one. They allocate the driver's
 * part of a counter, too; here that is a set of counters with a number.
 */
#ifdef TERN_HAS_counter_init
#define TERN_COUNTER_BIND_QP(op, fn)							\
	static int op(struct rdma_counter *counter, struct ib_qp *qp, u32 port)		\
	{										\
		return fn(counter, qp);							\
	}
#define TERN_COUNTER_UNBIND_QP(op, fn)							\
	static int op(struct ib_qp *qp, u32 port)					\
	{										\
		return fn(qp);								\
	}
struct tern_counter_obj {
	struct rdma_counter counter;
};
static inline void tern_counter_obj_init(struct rdma_counter *counter)
{
}
#define TERN_COUNTER_OBJECT								\
	.counter_init = tern_counter_obj_init,						\
	INIT_RDMA_OBJ_SIZE(rdma_counter, tern_counter_obj, counter),
#else
#define TERN_COUNTER_BIND_QP(op, fn)							\
	static int op(struct rdma_counter *counter, struct ib_qp *qp)			\
	{										\
		return fn(counter, qp);							\
	}
#define TERN_COUNTER_UNBIND_QP(op, fn)							\
	static int op(struct ib_qp *qp)							\
	{										\
		return fn(qp);								\
	}
#define TERN_COUNTER_OBJECT
#endif

/* In the table: what dumps show of SRQs. Older kernels do not ask for it. */
#ifdef TERN_HAS_fill_res_srq_entry
#define TERN_FILL_RES_SRQ(entry, raw)							\
	.fill_res_srq_entry = entry,							\
	.fill_res_srq_entry_raw = raw,
#else
#define TERN_FILL_RES_SRQ(entry, raw)
#endif

/*
 * FLUSH and ATOMIC WRITE, from 6.2 on. Before, ib_core refuses regions with FLUSH's rights, so no
 * FLUSH can succeed. ATOMIC WRITE has no rights of its own: programs can use it with any kernel,
 * kernel consumers only with one that has a name for it.
 */
#ifdef TERN_HAS_IB_WR_FLUSH
#define TERN_CORE_HAS_FLUSH 1
#else
#define TERN_CORE_HAS_FLUSH 0
#define IB_ACCESS_FLUSH_GLOBAL BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT BIT(9)
#define IB_DEVICE_FLUSH_GLOBAL BIT_ULL(38)
#define IB_DEVICE_FLUSH_PERSISTENT BIT_ULL(39)
#endif

#ifdef TERN_HAS_IB_WR_ATOMIC_WRITE
static inline bool ib_wr_is_atomic_write(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_ATOMIC_WRITE;
}
#else
static inline bool ib_wr_is_atomic_write(const struct ib_send_wr *wr)
{
	return false;
}
#define IB_WC_ATOMIC_WRITE IB_WC_RDMA_WRITE
#define IB_DEVICE_ATOMIC_WRITE BIT_ULL(40)
#endif

#endif
