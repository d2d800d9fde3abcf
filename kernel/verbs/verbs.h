/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What verbs/ offers to device.c's ops table, and what its files share. One
 * noun a file; each create has its destroy beside it. udata is handled in one
 * order everywhere: lengths, unknown input zero, then act; whatever fails
 * later undoes all of it.
 */
#ifndef TERN_VERBS_H
#define TERN_VERBS_H

#include <rdma/uverbs_ioctl.h>

#include "objects.h"
#include "transport.h"

/* Longest page list of a fast-register MR. */
#define TERN_MAX_FAST_REG_PAGES	1024

struct tern_cq_obj {
	struct tern_cq cq;
	struct mutex resize_lock;
	struct rdma_user_mmap_entry *mmap;	/* user CQs */
};

static inline struct tern_cq_obj *to_tern_cq_obj(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct tern_cq_obj, cq.ibcq);
}

static inline struct tern_pd *to_tern_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct tern_pd, ibpd);
}

static inline struct tern_srq *to_tern_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct tern_srq, ibsrq);
}

static inline struct tern_ah *to_tern_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct tern_ah, ibah);
}

static inline struct tern_ibqp *to_tern_ibqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct tern_ibqp, ibqp);
}

/* One more of what the device has max of: 0 or -ENOMEM. Undone by atomic_dec(). */
static inline int tern_count_in(atomic_t *n, u32 max)
{
	if ((u32)atomic_inc_return(n) <= max)
		return 0;
	atomic_dec(n);
	return -ENOMEM;
}

/* udata of a command that takes no input and answers resp_bytes. NULL: kernel consumer. */
static inline int tern_udata_check(struct ib_udata *udata, size_t resp_bytes)
{
	if (!udata)
		return 0;
	if (udata->outlen < resp_bytes)
		return -EINVAL;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return 0;
}

/* ---- doorbell.c ---- */

/* A consumer's doorbell. Contexts are those of the transport's qp_doorbell. */
static inline void tern_qp_ring(struct tern_qp *qp)
{
	struct tern_dev *dev = qp->dev;

	tern_count_anywhere(dev, TERN_CNT_DOORBELLS);
	dev->transport->qp_doorbell(qp);
}

/* A doorbell file, for QPs of this device whose doorbell it is. ERR_PTR. Sleeps. */
struct file *tern_doorbell_file(struct tern_dev *dev);

/* ---- ucontext.c ---- */
int tern_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
int tern_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);
extern const struct uapi_definition tern_uapi_defs[];
void tern_dealloc_ucontext(struct ib_ucontext *ibuc);
void tern_disassociate_ucontext(struct ib_ucontext *ibuc);
int tern_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void tern_mmap_free(struct rdma_user_mmap_entry *rdma);

/*
 * Let the caller of a verb map ring: *info says how. ERR_PTR on error. Ends
 * with rdma_user_mmap_entry_remove(); the ring stays while it is mapped.
 */
struct rdma_user_mmap_entry *tern_mmap_add(struct ib_udata *udata, struct tern_ring *ring,
					   struct tern_mmap *info);
/*
 * The same in two steps, for a ring that is made last (resize): what can fail,
 * then the ring of the nslots and stride announced.
 */
struct rdma_user_mmap_entry *tern_mmap_reserve(struct ib_udata *udata, u32 nslots, u32 stride,
					       struct tern_mmap *info);
void tern_mmap_bind(struct rdma_user_mmap_entry *rdma, struct tern_ring *ring);

/* ---- port.c ---- */
int tern_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int tern_modify_port(struct ib_device *ibdev, u32 port, int mask, struct ib_port_modify *modify);
int tern_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int tern_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable);
enum rdma_link_layer tern_get_link_layer(struct ib_device *ibdev, u32 port);
enum ib_port_state tern_port_state(const struct tern_dev *dev);

/* ---- ident.c ---- */
void tern_ident_fill(const struct tern_dev *dev, struct ib_device_attr *attr);

/* ---- pma.c ---- */
int tern_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
		     const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_mad_size, u16 *out_mad_pkey_index);

/* ---- stats.c ---- */
u64 tern_stat(const struct tern_dev *dev, enum tern_counter counter);
struct rdma_hw_stats *tern_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int tern_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

/* ---- pd.c ---- */
int tern_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int tern_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* ---- mr.c ---- */
struct ib_mr *tern_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *tern_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata);
struct ib_mr *tern_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *tern_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int tern_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);
int tern_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* ---- mw.c ---- */
int tern_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int tern_dealloc_mw(struct ib_mw *ibmw);

/* ---- cq.c ---- */
int tern_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct create_cq_ctx *ctx);
int tern_resize_cq(struct ib_cq *ibcq, u32 cqe, struct ib_udata *udata);
int tern_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
/* The QP is in RESET, or gone: CQEs of before are nobody's. User CQs are the provider's to clean. */
void tern_clean_cqs(const struct tern_qp *qp, const struct ib_qp *ibqp);

/* ---- srq.c ---- */
int tern_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int tern_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int tern_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int tern_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* ---- qp.c, qp_modify.c ---- */
int tern_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
/*
 * The device is about to be unregistered, or taken from its programs to be given to those of another
 * namespace: user QPs go to ERR, and stay there, so that programs that poll hear of it by flushed
 * completions. Until begin, before there are programs.
 */
void tern_qps_begin(struct tern_dev *dev);
void tern_qps_end(struct tern_dev *dev);
/*
 * For ib_core's dumps, in the place of to_tern_qp(). Of older releases they hold struct ib_qp alone
 * and come for QPs, too, that destroy is through with: then NULL. Owes a tern_qp_put().
 */
struct tern_qp *tern_qp_hold(struct ib_qp *ibqp);
int tern_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int tern_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int tern_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

/* ---- post.c ---- */
int tern_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int tern_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);
int tern_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

/* ---- ah.c ---- */
int tern_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int tern_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int tern_destroy_ah(struct ib_ah *ibah, u32 flags);

/* ---- mcast.c ---- */
int tern_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int tern_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* ---- event.c ---- */
/*
 * For work that is no transport's. Who destroys a QP, which waits for some of it, may be on his
 * way to free memory.
 */
extern struct workqueue_struct *tern_wq;
int tern_wq_init(void);
void tern_wq_exit(void);

/* Events: from creation to stop, which waits for handlers that run. */
void tern_qp_events_init(struct tern_qp *qp);
void tern_srq_events_init(struct tern_srq *srq);
void tern_events_stop(struct tern_events *events);

/* ---- res.c: what `rdma resource show -d` adds ---- */
int tern_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int tern_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int tern_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

#endif
