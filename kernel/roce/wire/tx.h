/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a QP sends by: batches of packets on their way into the IP stack. build.h puts
 * packets into the batch, room.h says how much may be sent.
 */
#ifndef TERN_ROCE_WIRE_TX_H
#define TERN_ROCE_WIRE_TX_H

#include <linux/in6.h>
#include <linux/skbuff.h>

#include "proto/icrc.h"

struct roce_path;
struct roce_tx_room;
struct tern_dev;
struct tern_qp;

/*
 * What batches are to the stack. SKB_GSO_UDP_TUNNEL is a fib that spares them
 * being taken apart in front of the UDP socket, as a tunnel's are; with
 * skb->encapsulation off it means nothing else.
 */
#define ROCE_GSO_TYPE	(SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST | SKB_GSO_UDP_TUNNEL)

/* Packets that a batch may have. As many as a driver hands up at a time. */
#define ROCE_TX_BATCH_PKTS	64
/* The same of this kernel: 1 if it does not treat lists rightly. */
extern u32 roce_tx_list_pkts;

/*
 * Packets of one path that go to the stack together: a list, or one packet that
 * the netdev cuts into them.
 */
struct roce_tx_batch {
	struct sk_buff *head;		/* NULL: none */
	struct sk_buff *tail;		/* last on head's frag_list, or NULL */
	u32 npkts;
	u32 bytes;			/* of the GSO packet: its segments' UDP payloads only */
	u32 max_bytes;			/* largest packet */
	u32 payload_bytes;
	u16 cut_bytes;			/* UDP payload of each packet, if the netdev cuts; or 0 */
	bool cut_ended;			/* the last is shorter: none may follow */
	void *end;			/* of the last on head's frags, or NULL */
};

/* A packet that was begun. */
struct roce_tx_open {
	struct sk_buff *skb;		/* NULL: it joins those to be cut */
	void *at;			/* BTH */
	u32 bytes;			/* from there to the end of the ICRC */
};

/*
 * Per QP: accounting socket (sk_wmem_alloc counts what is in the stack), batch
 * and cached route. Used by the owner of the QP's run lock, BHs off.
 */
struct roce_tx {
	const struct tern_qp *qp;	/* for its counters */
	struct tern_dev *dev;
	struct sock *sk;		/* of a socket of its own; NULL: none */
	struct roce_tx_room *room;	/* room.h */
	struct roce_tx_batch batch;
	struct roce_tx_open open;
	/*
	 * The most that a packet to be cut may have; 0: the netdev cuts none. As of the last
	 * flush, or of a new path.
	 */
	u32 cut_max_bytes;
	u16 cut_max_pkts;
	u16 ip_id;			/* next IPv4 identification */
	u32 refusals;			/* by the local queue, since it took something */
	struct icrc_memo icrc[2];	/* of what goes out: answers, requests */
	/* what the route cached in sk is for */
	struct {
		u64 serial;			/* of the path that it was found for last */
		struct in6_addr saddr, daddr;	/* IPv4: mapped */
		int oif;
		u32 cookie;
	} route;
};

/*
 * Route anew for a path that tx did not have. Its first batch is then what its netdev wants;
 * else GRO would pass it by those that follow.
 */
void roce_tx_new_path(struct roce_tx *tx, const struct roce_path *path);

/*
 * Route and send the batch, and have none. 0: handed to the stack, or there was
 * none. -EAGAIN: refused by the local queue (NET_XMIT_DROP), all of it or the
 * rest: send the same packets again after space(), or after a short delay if
 * roce_tx_is_called() says no. Other errors (-ENETUNREACH, -EHOSTUNREACH, ...):
 * treat as lost on the wire.
 */
int roce_tx_flush(struct roce_tx *tx, const struct roce_path *path);

/* Once, at load: does this kernel treat batches rightly? Else packets go one by one. */
bool __init roce_tx_try_batch(void);

#endif
