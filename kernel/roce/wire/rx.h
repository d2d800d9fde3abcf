/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Received packets: from the UDP sockets to a QP.
 */
#ifndef TERN_ROCE_WIRE_RX_H
#define TERN_ROCE_WIRE_RX_H

struct sk_buff;
struct sock;

/* encap_rcv of the UDP sockets; sk_user_data is the struct roce_net. Softirq. Consumes skb. */
int roce_rx_udp(struct sock *sk, struct sk_buff *skb);

#endif
