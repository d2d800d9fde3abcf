/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UD and GSI, receiving. IBTA 9.8.3; sending is ud_send.h.
 */
#ifndef TERN_ROCE_QP_UD_RECV_H
#define TERN_ROCE_QP_UD_RECV_H

struct roce_qp;
struct roce_rx;

/* A datagram that the QP takes, into a receive WQE if there is one. Run lock held, BHs off. */
void roce_ud_rx(struct roce_qp *qp, const struct roce_rx *rx);

#endif
