/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of roce/ share. Packet I/O (net, gid, path, tx, rx, mcast)
 * knows sockets and skbs and nothing of protocol state; QP execution (qp, req,
 * resp, ud) drives the engines of proto/ and knows no header layout.
 */
#ifndef TERN_ROCE_H
#define TERN_ROCE_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/dst.h>

#include "objects.h"
#include "proto/ack_hold.h"
#include "roce/wire/icrc.h"
#include "proto/pkt.h"
#include "proto/rc_req.h"
#include "proto/rc_resp.h"
#include "proto/run.h"

/* ---- path: an address vector resolved for sending ---- */
struct roce_path {
	bool ipv6;
	u8 tclass;
	u8 hop_limit;
	__be32 flow_label;		/* IPv6, network order, 20 bits */
	__be16 src_port;
	union {
		struct { __be32 saddr, daddr; } v4;
		struct { struct in6_addr saddr, daddr; } v6;
	};
	int oif;			/* ifindex of the sgid's netdev */
	u32 priority;			/* of skbs */
	u64 serial;			/* no other AV's path has it */
};

/*
 * Fill from a resolved AV (attr.grh.sgid_attr set). The UDP source port comes
 * from the flow label if not zero, else from the QP numbers (annex A17, kernel
 * rdma_get_udp_sport()). 0 or -EINVAL (GID pair of different families,
 * sgid gone).
 */
int roce_path_init(struct tern_dev *dev, struct roce_path *path, const struct rdma_ah_attr *attr,
		   u32 lqpn, u32 rqpn);

/* ---- tx ---- */

/*
 * What batches are to the stack. SKB_GSO_UDP_TUNNEL is a fib that spares them
 * being taken apart in front of the UDP socket, as a tunnel's are; with
 * skb->encapsulation off it means nothing else.
 */
#define ROCE_GSO_TYPE	(SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST | SKB_GSO_UDP_TUNNEL)

/*
 * Packets of one path that go to the stack together: a list, or one packet that
 * the netdev cuts into them.
 */
struct roce_tx_batch {
	struct sk_buff *head;		/* NULL: none */
	struct sk_buff *tail;		/* last on head's frag_list, or NULL */
	u32 npkts;
	u32 bytes;			/* of the GSO packet: of its segments the UDP payloads only */
	u32 max_bytes;			/* largest packet */
	u32 payload_bytes;
	u16 cut_bytes;			/* UDP payload of each packet, if it is to be cut; or 0 */
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
 * and cached route. begin, end, flush and full: by the owner of the QP's run
 * lock only.
 */
struct roce_tx {
	struct tern_dev *dev;
	struct sock *sk;		/* of a socket of its own; NULL: none */
	struct roce_tx_room *room;	/* who is told of room in the queue (tx.c) */
	struct roce_tx_batch batch;
	struct roce_tx_open open;
	/*
	 * A packet to be cut may have so much; 0: the netdev cuts none. As of the last flush,
	 * or of a new path.
	 */
	u32 cut_max_bytes;
	u16 cut_max_pkts;
	u16 ip_id;			/* next IPv4 identification */
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
 * space(arg) is called in softirq or with BHs off, when roce_tx_full() said yes, or
 * the local queue refused, and there is room again. That can be inside roce_tx_flush()
 * (the stack freed the skb), and with a transmit queue's lock held, so it must not
 * send. A run of the QP must follow, with roce_tx_end_turn(). May sleep.
 */
int roce_tx_init(struct roce_tx *tx, struct tern_dev *dev, void (*space)(void *arg), void *arg);
/*
 * After it returns space() is not called any more; skbs in the stack drain by
 * themselves. May sleep. Not from space(). Nothing is sent by tx after it.
 */
void roce_tx_uninit(struct roce_tx *tx);
/*
 * A path it had not: routed anew, and its first batch is what its netdev wants, or GRO
 * would pass it by those that follow. BHs off. By the owner of the run lock.
 */
void roce_tx_new_path(struct roce_tx *tx, const struct roce_path *path);

/*
 * The device of this very stack that packets to path would come in by, over
 * `lo`; NULL: they leave the host, or are to go as packets. BHs off. By the owner
 * of the run lock.
 */
struct tern_dev *roce_tx_peer_dev(struct roce_tx *tx, const struct roce_path *path);

/* Packets that a list may have, and their bytes. */
extern u32 roce_tx_list_pkts;
#define ROCE_TX_BATCH_BYTES	(U16_MAX - MAX_HEADER)

/* Has a batch that is a list, if it is anything yet, room for one more, of so much payload? */
static inline bool roce_tx_list_fits(const struct roce_tx_batch *batch, u32 payload_bytes)
{
	return !batch->head ||
	       (batch->npkts < roce_tx_list_pkts &&
		batch->bytes + PKT_HDR_MAX_BYTES + payload_bytes + 3 + ICRC_BYTES <=
			ROCE_TX_BATCH_BYTES);
}

/* As much of one that is to be cut. */
bool roce_tx_cut_fits(const struct roce_tx *tx, const struct pkt *k);

/* Has the batch room for this packet too? */
static inline bool roce_tx_fits(const struct roce_tx *tx, const struct pkt *k)
{
	return tx->batch.cut_bytes ? roce_tx_cut_fits(tx, k) :
				     roce_tx_list_fits(&tx->batch, k->payload_bytes);
}

/*
 * Begin a packet, which has the batch's path and fits it: k's headers are built, and
 * there is room for k->payload_bytes at the address returned, to be filled by the
 * caller; then roce_tx_end(). NULL: no memory. roce_tx_cancel() forgets it instead.
 */
void *roce_tx_begin(struct roce_tx *tx, const struct roce_path *path, struct pkt *k);
/* Pad, ICRC, UDP, IP: the packet joins the batch. */
void roce_tx_end(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k);
void roce_tx_cancel(struct roce_tx *tx);
/* Packets that a batch may have. As many as a driver hands up at a time. */
#define ROCE_TX_BATCH_PKTS	64

/*
 * Route and send the batch, and have none. 0: handed to the stack, or there was
 * none. -EAGAIN: refused by the local queue (NET_XMIT_DROP), all of it or the
 * rest: send the same packets again after space() or a short delay. Other errors
 * (-ENETUNREACH, -EHOSTUNREACH, ...): treat as lost on the wire.
 */
int roce_tx_flush(struct roce_tx *tx, const struct roce_path *path);
/* Once, at load: does this kernel treat batches rightly? Else packets go one by one. */
bool __init roce_tx_try_batch(void);

/*
 * True: others are to send before this QP sends so much payload (gate.h), or it has enough
 * in the stack; space() comes.
 */
bool roce_tx_full(struct roce_tx *tx, u32 bytes);
/* So many packets of so much payload may the next run have, of a budget. */
u32 roce_tx_pkts(const struct roce_tx *tx, u32 pmtu, u32 budget);
/* At the end of each run of the QP. */
void roce_tx_end_turn(struct roce_tx *tx);

/* ---- rx: a packet on its way into a QP ---- */

/*
 * The payload of what comes without a packet: the sender's own memory, from
 * byte off on. One of flat, sge and span, or none if there is no payload.
 */
struct roce_source {
	const struct roce_path *path;	/* the sender's: where from and where to */
	u16 ip_id;			/* of the IPv4 packet that it would have been */
	bool refused;			/* set: it could not be read, so nothing came */
	bool waits;			/* set: it did not come, for want of a receive WQE: bring it again */
	const u8 *flat;
	const struct tern_mem_ctx *mem;
	const struct tern_sge *sge;
	u32 num_sge;
	const struct tern_span *span;
	u64 off;
};

/* May [0, n) of the payload be read now? */
bool roce_source_ok(const struct roce_source *src, u32 n);

/*
 * What the QP needs from a received packet, valid only in the call: k is parsed, the
 * ICRC is right, the destination address is one of the device's. Without skb: a stretch
 * of packets, or one, straight from a QP of this host.
 */
struct roce_rx {
	struct tern_dev *dev;
	struct sk_buff *skb;		/* whose data has the packet, from byte `at` on: BTH to ICRC */
	u32 at;
	u32 bytes;
	const u8 *headers;		/* network header, UDP, BTH */
	struct roce_source *src;	/* if there is no skb */
	struct pkt k;
	bool mcast;
	bool uncut;			/* skb has others too, and is not this one's to keep or free */
};

/* Did copying fail for the sender's reason? Then it is as if nothing had come. */
static inline bool roce_rx_is_void(const struct roce_rx *rx)
{
	return !rx->skb && rx->src->refused;
}

/* The first n bytes of the payload if they are one stretch, in an skb's head say; or NULL. */
static inline const void *roce_rx_flat(const struct roce_rx *rx, u32 n)
{
	if (n > rx->k.payload_bytes)
		return NULL;
	if (!rx->skb)
		return rx->src->flat ? rx->src->flat + rx->src->off : NULL;
	return roce_skb_flat(rx->skb, rx->at + rx->k.hdr_bytes, n);
}

/* Copy n payload bytes starting at payload offset off to a span/SGL or flat memory. */
int roce_rx_to_span(const struct roce_rx *rx, u32 off, const struct tern_span *span, u64 span_off,
		    u32 n);
int roce_rx_to_sgl(const struct roce_rx *rx, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n);

/* Parse skb (again, when it comes from a QP's backlog): false cannot happen for queued skbs. */
bool roce_rx_parse(struct tern_dev *dev, struct sk_buff *skb, struct roce_rx *rx);

/* The packet as an skb of its own, for a backlog. NULL: no memory. Either ends rx. */
struct sk_buff *roce_rx_keep(struct roce_rx *rx);
void roce_rx_done(struct roce_rx *rx);
/* As roce_rx_keep(), but rx does not end. */
struct sk_buff *roce_rx_ref(const struct roce_rx *rx);

/*
 * UD: the 40 bytes that go before the payload (IBTA 11.4.2.1; IPv4: the header
 * in the last 20, RoCEv2 annex A17.4.5.2), and the L2/L3 fields of a CQE.
 */
void roce_rx_grh(const struct roce_rx *rx, u8 grh[GRH_BYTES]);
void roce_rx_fill_cqe(const struct roce_rx *rx, struct tern_cqe *cqe);
/* Does the packet come from the peer that path points at (addresses)? */
bool roce_rx_from_path(const struct roce_rx *rx, const struct roce_path *path);

/* ---- net, gid, mcast ---- */
int roce_net_init(void);		/* pernet operations */
void roce_net_exit(void);
int roce_dev_start(struct tern_dev *dev);
void roce_dev_stop(struct tern_dev *dev);
int roce_dev_enable(struct tern_dev *dev);
extern const struct ib_device_ops roce_dev_ops;	/* sysfs.c */
void roce_port_immutable(struct tern_dev *dev, struct ib_port_immutable *immutable);
int roce_add_gid(const struct ib_gid_attr *attr, void **context);
int roce_del_gid(const struct ib_gid_attr *attr, void **context);
int roce_mcast_attach(struct tern_qp *qp, const union ib_gid *mgid);
int roce_mcast_detach(struct tern_qp *qp, const union ib_gid *mgid);
/* A QP is being destroyed: drop whatever it is still attached to. */
void roce_mcast_detach_all(struct tern_qp *qp);

/* ---- QP execution ---- */

#define ROCE_RX_BACKLOG_MAX	4096	/* skbs queued to a busy QP before drops */

/* Traffic with a QP of this host, without packets (local.c). */
struct roce_local {
	bool req;		/* requests go so */
	bool resp;		/* the last request came so: answers go back so */
	bool ud_wire;		/* UD: a packet of this batch went by the stack, so the rest does */
	bool abroad;		/* this batch of requests goes by the wire; not asked again */
	bool open;		/* deliver to `to`, locked besides this QP; NULL: nobody is there */
	struct roce_qp *to;
	bool peer_waits;	/* with a request, for a receive WQE */
	bool waits_for_recv;	/* the peer has none for ours */
	bool brief;		/* who has this one's run lock delivers something short */
	u32 unanswered;		/* while open: requests whose acknowledge is still to be fetched */
	struct rc_window wire_window;	/* while req: the window to go back to */
	struct roce_qp *next;	/* referenced: to be run once this QP's run lock is free */
	struct list_head waiters;	/* QPs that wait for this one's run lock */
	struct list_head wait_node;	/* in another's waiters, with a reference to this one */
	struct work_struct kick;	/* with a reference */
};

struct roce_qp {
	struct tern_qp base;
	struct roce_path path;		/* RC, UC: the peer */
	struct roce_tx tx;
	struct {
		bool has_ack;
		bool has_requests;
		u32 psn;		/* of the first request packet */
	} batch;			/* what tx.batch holds, should the stack refuse it */

	struct rc_sqe *sqe;		/* RC, UC: parallel to the SQ's slots */
	struct rc_req req;
	struct rc_resp resp;
	struct ack_hold hold;
	struct rc_res *res;
	bool req_ready;			/* RTS reached since RESET */
	bool window_cut;		/* the requester's limit is that for a netdev that cuts */
	bool resp_ready;		/* RTR reached since RESET */

	struct roce_local local;
	struct list_head memberships;	/* of multicast groups, under mcast_lock */
	bool comm_est;
	bool last_wqe_told;		/* SRQ: in ERR, and the event was raised */

	struct sk_buff_head backlog;	/* packets that found the QP busy */
	struct sk_buff_head kept;	/* a request that waits for a receive WQE, and those behind it */
	bool recv_called;		/* TERN_RING_F_KICK is set for them */
	struct hrtimer timer;
	u64 timer_ns;			/* what it is set for; 0: off */
	u64 now_ns;			/* roce_now(); 0: to be asked for */
	struct work_struct work;	/* goes on when a budget is spent, or there is room */
	int cpu;			/* that it was run by last */
	u64 retry_tx_ns;		/* local queue refused: try again then */
	u32 ud_sending;			/* UD/GSI: next SQ index to send */
};

static inline struct roce_qp *to_roce_qp(struct tern_qp *qp)
{
	return container_of(qp, struct roce_qp, base);
}

/*
 * A series of packets on their way into QPs: the QP that had the last one is kept
 * (its run lock held) as long as the next is for it too, and run when it is let go.
 */
struct roce_rx_series {
	struct roce_qp *qp;	/* NULL: none */
};

/*
 * Entry from rx.c and mcast.c, softirq, RCU held: consumes the skb. qp is referenced
 * by the RCU section only, which lasts until roce_rx_series_end().
 */
void roce_qp_rx(struct roce_rx_series *series, struct roce_qp *qp, struct roce_rx *rx);
void roce_rx_series_end(struct roce_rx_series *series);

#endif
