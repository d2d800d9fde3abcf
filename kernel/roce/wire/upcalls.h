/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam between wire/ and qp/: all that wire/ calls in qp/, which implements it.
 * Everything else is called downwards. (A transmit queue's room is told by the
 * callback that roce_tx_init() is given.)
 */
#ifndef TERN_ROCE_WIRE_UPCALLS_H
#define TERN_ROCE_WIRE_UPCALLS_H

struct roce_qp;
struct roce_rx;
struct tern_qp;

/*
 * A series of packets on their way into QPs. The QP that had the last one is kept
 * (its run lock held) as long as the next is for it too, and is run when it is let go.
 */
struct roce_rx_series {
	struct roce_qp *qp;	/* NULL: none */
};

/*
 * rx is for qp: its ICRC is right. Ends rx. Softirq, RCU held. qp is referenced
 * by the RCU section only, which lasts until roce_rx_series_end().
 */
void roce_qp_rx(struct roce_rx_series *series, struct tern_qp *qp, struct roce_rx *rx);
/* No packet follows. Softirq. */
void roce_rx_series_end(struct roce_rx_series *series);

#endif
