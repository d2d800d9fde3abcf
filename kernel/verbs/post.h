/* SPDX-License-Identifier: GPL-2.0 */
/* Posting by kernel consumers. Context: any, IRQs may be off. */
#ifndef TERN_VERBS_POST_H
#define TERN_VERBS_POST_H

#include <rdma/ib_verbs.h>

int tern_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int tern_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);
int tern_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

#endif
