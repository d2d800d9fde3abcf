/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Received packets: from the UDP sockets, and as frames of RoCEv1, to a QP.
 */
#ifndef TERN_ROCE_WIRE_RX_H
#define TERN_ROCE_WIRE_RX_H

struct roce_net;
struct sk_buff;
struct sock;

/* encap_rcv of the UDP sockets; sk_user_data is the struct roce_net. Softirq. Consumes skb. */
int roce_rx_udp(struct sock *sk, struct sk_buff *skb);

/*
 * A frame of RoCEv1 that a netdev of rn's namespace brought, its data and network header at
 * the GRH, if it is as long. Softirq. Consumes skb.
 */
void roce_rx_frame(struct roce_net *rn, struct sk_buff *skb);

#endif
