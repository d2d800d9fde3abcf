/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generic receive offload of the UDP sockets: packets of a flow become a batch.
 */
#ifndef TERN_ROCE_WIRE_GRO_H
#define TERN_ROCE_WIRE_GRO_H

struct list_head;
struct sk_buff;
struct sock;

/*
 * gro_receive of the UDP sockets: skb's offset is behind the UDP header; of the
 * packets held, those with same_flow have its addresses and ports. Returns the one
 * to be let go, if any. skb is then held, unless its flush is set. The caller has
 * checked the UDP checksum, if there is one. Softirq.
 */
struct sk_buff *roce_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb);
/*
 * gro_complete: skb, with more than itself on its list, goes to the stack. nhoff: as for receive.
 */
int roce_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff);

#endif
