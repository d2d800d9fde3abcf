/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All tuning constants of the engines: numbers that no specification fixes. Each has its unit,
 * its reason and its source. Limits of the wire stay where they are checked.
 */
#ifndef TERN_PROTO_TUNING_H
#define TERN_PROTO_TUNING_H

/* ---- RC requester: how long it waits, how often it asks (rc_req.c, rc_ack.c, rc_timer.h) ---- */

/*
 * Doublings. Each expiry of the ACK timer without progress doubles the next wait, at most this
 * often. More packets do not help a peer or a network that is too busy. Not measured.
 */
#define RC_REQ_MAX_BACKOFF	2

/*
 * Nanoseconds, added to the least wait for a peer that has answered: a peer that is software may
 * be off its CPU. Three times a timeout of 14. Up to 14, the usual value, the wait stays four
 * times the timeout, which IBTA 9.7.6.1.3 allows. Not measured.
 */
#define RC_REQ_PEER_OFF_NS	(3 * (4096u << 14))

/*
 * Times answer_ns, added to the same wait: the path may take longer than of late. answer_ns loses
 * an eighth (RC_REQ_ANSWER_FADE) with each quick answer, so 16 times answer_ns is no less than
 * the slowest of the last twenty answers. Not measured.
 */
#define RC_REQ_ANSWER_TIMES	16
#define RC_REQ_ANSWER_FADE	8

/*
 * Nanoseconds. An RNR NAK without progress since the last one doubles the wait, up to this, and
 * one packet asks then. A receiver may name 10 us, with retries for ever, and never be ready.
 * Sending it all that is posted at that rate, in softirqs, takes a CPU, and the program that
 * would post the receive may wait for that CPU. With 1 ms and all packets a kernel with KASAN
 * and lockdep still had a soft lockup under vrace. No request waits longer than twice
 * the time that the receiver takes. (The receiver names the least wait: IBTA 9.7.5.2.8.)
 */
#define RC_REQ_RNR_BACKOFF_NS	10000000

/* AckReqs per window within a message: acknowledges arrive before the window is used up. */
#define RC_REQ_ACKREQS		4

/* ---- RC requester: what is sent again, and when (rc_resend.c) ---- */

/* Probes in a row, each after twice the time. Then the ACK timer has its say. Not measured. */
#define RC_MAX_PROBES		8

/* Nanoseconds to the first probe of a path on which no round trip was timed. Not measured. */
#define RC_PROBE_FIRST_NS	10000000

/*
 * Holes in a row that may end where more is missing, each twice as long as the one before: one
 * more, and the peer is taken for one that drops. Not measured.
 */
#define RC_RESEND_MISSES	4

/*
 * Gaps in a row that did not close by themselves: the path keeps the order, and the next gap is
 * left alone to see whether it still does (RFC 8985 6.2 forgets after as many).
 */
#define RC_RESEND_IN_ORDER	16

/*
 * One packet of these is timed, or one of a window that is smaller. Two exact times for each
 * message of 64 bytes cost 3 % of it.
 */
#define RC_RTT_PKTS		16

/* ---- RC requester: packets under way (rc_window.h) ---- */

/* Packets. With aimd and dcqcn a reported loss does not shrink the window below this. */
#define RC_WINDOW_MIN		16
/* And after it, each window of packets that comes through adds 1/16 of the window. */
#define RC_WINDOW_STEPS		16

/* ---- congestion control (cc.h) ---- */

/*
 * Nanoseconds: the shortest round trip of this time and of the same time before it is taken for
 * that of the empty path. Linux' TCP takes 300 s. Not measured.
 */
#define CC_BASE_NS		60000000000ull
/* kbit/s: no controller sends slower, whatever is lost or marked. */
#define CC_LEAST_KBPS		1000u
/* kbit/s: and no rate is higher; what is faster has none. */
#define CC_MOST_KBPS		2000000000u
/*
 * Nanoseconds at the controller's rate: the burst. Shorter is better for queues, but a timer that
 * is later loses some of the rate.
 */
#define CC_BURST_NS		100000

/* Nanoseconds from a CNP of a flow to the next, at least (the DCQCN paper's N). */
#define CNP_INTERVAL_NS		50000

/* ---- rate limits (pacer.h) ---- */

/*
 * Bytes, for the headers of a packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC and FCS 4 each, 62,
 * rounded up. Those within a host have none and count alike: a limit is one for work, too.
 */
#define PACER_PKT_BYTES		64
/*
 * Nanoseconds at the rate: the burst of a program that names none. A timer that is late by less
 * than half of it loses nothing of the rate. Not measured.
 */
#define PACER_BURST_NS		2000000
/*
 * Nanoseconds: so long a QP that has used up its burst waits at least. A program that names a tiny
 * burst gets less than its rate, and not a timer for each packet. Not measured.
 */
#define PACER_LEAST_WAIT_NS	50000

/* ---- RC responder: requests without a receive WQE (rc_resp.c) ---- */

/*
 * Nanoseconds that such a request waits for a receive WQE, at most. An RNR NAK makes the
 * requester wait for up to 655 ms (rdma_cm's value), and nothing can call it sooner. A program
 * that is about to post takes a thousandth of that. 32 ms is its wait for a CPU behind eight
 * busy threads with slices of one tick of 4 ms. The Local CA ACK Delay of a device with such a
 * responder is at least this, so that requesters allow for it.
 */
#define RC_RESP_RECV_WAIT_NS	32000000
/* The same wait as a part of our ACK timeout: the rest is for the path and for a late peer. */
#define RC_RESP_RECV_WAIT_PART	4
/* Nanoseconds to the first look at a queue whose posters do not ring. It doubles each time. */
#define RC_RESP_RECV_LOOK_NS	50000

/* ---- UC responder ---- */

/*
 * Packets. A PSN that lies no further behind is of an old packet. One that lies further behind is
 * new, after an outage in which more than 2^23 packets were lost.
 */
#define UC_STALE_PKTS		0x10000

/* ---- RC responder: an ACK waits for a request to go with (ack_hold.c) ---- */

enum {
	ACK_HOLD_PROMPT		= 4,		/* prompt replies in a row before an ACK waits */
	ACK_HOLD_UNANSWERED	= 8,		/* messages in a row: this QP does not reply */
	ACK_HOLD_TIMES		= 32,		/* an ACK waits this many times a reply's time, */
	ACK_HOLD_MIN_NS		= 20000,	/* at least this, */
	ACK_HOLD_MAX_NS		= 4000000,	/* at most this; a later reply is none */
	ACK_HOLD_FADE		= 8,		/* a quick reply removes 1/8 of the excess */
};

/* ---- iWARP requester: READs that wait for the next response (iw_req.h) ---- */

/*
 * READS_AHEAD, requests: with this many READs and atomics under way the next response is near.
 * READs of at most SHORT_READ_BYTES that are posted meanwhile leave with it, many requests in a
 * segment, and their posters need not ring: READs of 4 KiB, 128 deep, are 1.2 times as fast.
 * Longer ones are slower so.
 * READ_BYTES_AHEAD, bytes: with this many to come, other READs wait until enough has come for
 * an acknowledge and leave with it.
 */
enum {
	IW_READS_AHEAD		= 16,
	IW_SHORT_READ_BYTES	= 16384,
	IW_READ_BYTES_AHEAD	= 2 << 20,
};

/* ---- iWARP receiver: for how much TCP's ACKs wait (iw_ack.h) ---- */

#define IW_ACK_STEADY		(4u << 20)	/* bytes of a steady stream before ACKs wait */
#define IW_ACK_MOST		(256u << 10)	/* bytes that an ACK waits for, at most; */
#define IW_ACK_LEAST		(32u << 10)	/* at least: for fewer ACKs do not wait */
#define IW_ACK_TICKS		2		/* jiffies that an ACK waits: one whole at least */
#define IW_ACK_LATES		3		/* late ACKs that are no accident, each at most */
#define IW_ACK_LATES_APART	(4u << 20)	/* this many bytes after the one before */
#define IW_ACK_MOST_SETBACKS	9		/* doublings of the bytes to the next trial */

#endif
