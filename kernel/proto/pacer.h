/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How fast a QP sends: a bucket that fills at the QP's rate, up to a burst, and that each packet
 * takes its bytes from. So in no time t does more leave than the burst and what the rate gives in
 * t. The bucket is kept as the moment at which it is full.
 *
 * Once it has not enough for a packet, nothing leaves until it is half full: packets go in batches,
 * and timers and acknowledges are few.
 */
#ifndef TERN_PROTO_PACER_H
#define TERN_PROTO_PACER_H

#include "deps.h"
#include "tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PACER_NO_LIMIT		((u32)-1)

/* What is set; kbit/s are 1000 bits a second. */
struct pacer_rate {
	u32 kbps;		/* 0: no limit */
	u32 burst_bytes;	/* 0: PACER_BURST_NS at the rate */
};

struct pacer {
	u32 kbps;		/* 0: no limit */
	u64 pkt_ns;		/* in which a packet of full size comes into the bucket */
	u64 burst_ns;		/* in which the empty bucket becomes full; pkt_ns at least */
	u64 full_ns;		/* when it is full */
	u64 until_ns;		/* nothing leaves before; 0: it may */
};

/* How long bytes take at the rate, not less. At 1 kbit/s a byte takes 8000000 ns. */
static inline u64 pacer_ns(const struct pacer *p, u64 bytes)
{
	return (bytes * 8000000 + p->kbps - 1) / p->kbps;
}

/* A full bucket. max_payload: bytes that a packet has at most. */
static inline void pacer_init(struct pacer *p, const struct pacer_rate *rate, u32 max_payload)
{
	p->kbps = rate->kbps;
	p->pkt_ns = 0;
	p->burst_ns = 0;
	p->full_ns = 0;
	p->until_ns = 0;
	if (!rate->kbps)
		return;
	p->pkt_ns = pacer_ns(p, (u64)max_payload + PACER_PKT_BYTES);
	p->burst_ns = rate->burst_bytes ? pacer_ns(p, rate->burst_bytes) : PACER_BURST_NS;
	if (p->burst_ns < p->pkt_ns)
		p->burst_ns = p->pkt_ns;
}

/*
 * Another rate, of a congestion controller, more than 0. What was sent before counts on, and what
 * waits asks again.
 */
static inline void pacer_steer(struct pacer *p, u32 kbps, u64 burst_ns, u32 max_payload)
{
	p->kbps = kbps;
	p->pkt_ns = pacer_ns(p, (u64)max_payload + PACER_PKT_BYTES);
	p->burst_ns = burst_ns > p->pkt_ns ? burst_ns : p->pkt_ns;
	p->until_ns = 0;
}

/* Packets of full size that may leave now. 0: none before until_ns. PACER_NO_LIMIT: any number. */
static inline u32 pacer_room(struct pacer *p, u64 now_ns)
{
	u64 missing, pkts, enough;

	if (!p->kbps)
		return PACER_NO_LIMIT;
	if (now_ns < p->until_ns)
		return 0;
	p->until_ns = 0;
	if (p->full_ns < now_ns)
		p->full_ns = now_ns;
	missing = p->full_ns - now_ns;
	pkts = missing < p->burst_ns ? (p->burst_ns - missing) / p->pkt_ns : 0;
	if (!pkts) {
		enough = p->burst_ns / 2 > p->pkt_ns ? p->burst_ns / 2 : p->pkt_ns;
		p->until_ns = p->full_ns - (p->burst_ns - enough);
		if (p->until_ns < now_ns + PACER_LEAST_WAIT_NS)
			p->until_ns = now_ns + PACER_LEAST_WAIT_NS;
	}
	return pkts < PACER_NO_LIMIT ? (u32)pkts : PACER_NO_LIMIT - 1;
}

/* Packets have left, no more than there was room for, at the time of pacer_room(). */
static inline void pacer_sent(struct pacer *p, u32 npkts, u32 payload_bytes)
{
	u64 bytes = (u64)npkts * PACER_PKT_BYTES + payload_bytes;

	if (p->kbps)
		p->full_ns += pacer_ns(p, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
