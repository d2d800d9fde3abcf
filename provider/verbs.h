/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs of tern as libibverbs calls them, by file. Semantics are those of
 * the public manual pages: on failure creators return NULL and set errno. The
 * others return 0 or a positive errno, unless the verb says otherwise. Any
 * thread may call them.
 */
#ifndef TERN_PROVIDER_VERBS_H
#define TERN_PROVIDER_VERBS_H

#include "abi/verbs_private.h"

namespace tern {

/* device.cc */
extern const verbs_device_ops device_ops;

/* context.cc */
verbs_context *alloc_context(ibv_device *device, int cmd_fd, void *private_data);
verbs_context *import_context(ibv_device *device, int cmd_fd);
void free_context(ibv_context *context);

/* query.cc */
int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input,
		    ibv_device_attr_ex *attr, size_t attr_size);
int query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr);
int query_rt_values(ibv_context *context, ibv_values_ex *values);

/* pd.cc */
ibv_pd *alloc_pd(ibv_context *context);
int dealloc_pd(ibv_pd *pd);
ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr);
int dealloc_td(ibv_td *td);
ibv_pd *alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *attr);
ibv_pd *import_pd(ibv_context *context, uint32_t handle);
void unimport_pd(ibv_pd *pd);

/* mr.cc */
ibv_mr *reg_mr(ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);
int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length, int access);
int dereg_mr(verbs_mr *mr);
ibv_mr *import_mr(ibv_pd *pd, uint32_t handle);
void unimport_mr(ibv_mr *mr);

/* mw.cc */
ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type);
int dealloc_mw(ibv_mw *mw);

/* ah.cc */
ibv_ah *create_ah(ibv_pd *pd, ibv_ah_attr *attr);
int destroy_ah(ibv_ah *ah);

/* cq.cc */
ibv_cq *create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel, int comp_vector);
ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr);
int resize_cq(ibv_cq *cq, int cqe);
int destroy_cq(ibv_cq *cq);
int poll_cq(ibv_cq *cq, int num_entries, ibv_wc *wc);
int req_notify_cq(ibv_cq *cq, int solicited_only);

/* srq.cc */
ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attr);
ibv_srq *create_srq_ex(ibv_context *context, ibv_srq_init_attr_ex *attr);
int modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int mask);
int query_srq(ibv_srq *srq, ibv_srq_attr *attr);
int destroy_srq(ibv_srq *srq);
int get_srq_num(ibv_srq *srq, uint32_t *srq_num);

/* qp.cc */
ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *attr);
ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr);
int destroy_qp(ibv_qp *qp);

/* qp_attr.cc */
int modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask);
int query_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask, ibv_qp_init_attr *init_attr);
int attach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid);
int detach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid);

/* post.cc */
int post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr);
int post_recv(ibv_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);
int post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);
int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind);

} // namespace tern

#endif
