/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QPs as iw_cm and endpoints find them and refer to them.
 */
#ifndef TERN_IWARP_STREAM_CMREF_H
#define TERN_IWARP_STREAM_CMREF_H

#include <linux/types.h>

struct ib_device;
struct ib_qp;
struct iw_ep;
struct iw_qp;
struct rdma_cm_id;
struct tern_dev;

/* ib_core's iw_get_qp, iw_add_ref and iw_rem_ref. */
struct ib_qp *iw_get_qp(struct ib_device *ibdev, int qpn);
void iw_qp_add_ref(struct ib_qp *ibqp);
void iw_qp_rem_ref(struct ib_qp *ibqp);
/* A reference is given back; struct ib_qp stays until the last is. */
void iw_cmref_put(struct iw_qp *qp);

/*
 * The QP of that number becomes the endpoint's, whose reference it takes. ERR_PTR(-EPERM): the
 * caller of rdma_cm, with that identifier, may not connect it; ERR_PTR(-EINVAL): there is none, or
 * it cannot connect any more. May sleep.
 */
struct iw_qp *iw_qp_attach(struct tern_dev *dev, u32 qpn, const struct rdma_cm_id *id,
			   struct iw_ep *ep);
/*
 * The reverse, if the connection did not come about; NULL is fine. Its reference is put. May sleep.
 */
void iw_qp_detach(struct iw_qp *qp, struct iw_ep *ep);

#endif
