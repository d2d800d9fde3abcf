/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RC, UC and XRC responder: carries out the engine's verdicts on requests. Takes receive
 * WQEs, checks keys, moves payload, executes atomics, completes receives. It sends
 * nothing: what it owes, the same run sends later, or the peer of this host fetches (carry.c).
 */
#ifndef TERN_ROCE_QP_RESP_H
#define TERN_ROCE_QP_RESP_H

struct roce_qp;
struct roce_rx;

/* A request of the peer, in order behind qp->kept. Run lock held, BHs off. */
void roce_resp_rx(struct roce_qp *qp, const struct roce_rx *rx);

#endif
