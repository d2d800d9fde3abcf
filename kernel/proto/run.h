/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run: consecutive packets of one message that an engine wants on the wire.
 * Engines hand out runs, the transport sends a prefix of each (packet by
 * packet or as one GSO super-packet) and reports how many packets it took.
 * All packets of a run but the first and the last have the same size.
 */
#ifndef TERN_PROTO_RUN_H
#define TERN_PROTO_RUN_H

#include "pkt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum run_kind {
	RUN_REQUEST,	/* packets of the send queue element `slot` */
	RUN_READ_RESP,	/* payload from remote-readable memory (rkey, va) */
	RUN_CONTROL,	/* one packet without payload: ACK, NAK, atomic ACK */
	RUN_LOCAL,	/* no packet: execute the local operation of `slot` */
};

struct run {
	u8  kind;		/* enum run_kind */
	u8  service;		/* enum bth_service */
	u8  syndrome;		/* AETH, where the opcode carries one */
	bool first;		/* packet 0 of the run starts the message (or the replay) */
	bool last;		/* the run's final packet ends the message */
	bool solicited;
	bool ack_req;		/* on the final packet */
	bool has_imm;
	bool has_inv;
	u8  op;			/* RUN_REQUEST: enum wr_op; RUN_CONTROL: enum bth_op */
	u32 slot;		/* send queue index (free-running) or responder resource */
	u32 dqpn;
	u16 pkey;
	u32 psn;		/* of packet 0 */
	u32 npkts;
	u32 pmtu;		/* bytes */
	u64 offset;		/* of packet 0's payload within the message */
	u32 bytes;		/* payload of the whole run */
	u32 msn;
	u64 va;			/* requests: RETH/AtomicETH; READ_RESP: where offset 0 is */
	u32 rkey;
	u32 dma_bytes;		/* RETH */
	u64 compare;
	u64 swap_add;
	u64 atomic_orig;
	__be32 imm;
	u32 inv_rkey;
};

/*
 * Fill k (for pkt_build()) with the headers of packet i < run->npkts. Its
 * payload is k->payload_bytes bytes from message offset
 * run->offset + i * run->pmtu. Not for RUN_LOCAL.
 */
void run_pkt(const struct run *run, u32 i, struct pkt *k);

/*
 * The whole run as one stretch, for where there is no packet to build: the
 * opcode says whether it begins and ends the message, k->npkts how many PSNs
 * it takes, k->payload_bytes all it carries. The peer's engine takes it like
 * that many packets that came one behind the other. As pkt_parse() leaves it.
 */
void run_stretch(const struct run *run, struct pkt *k);

#ifdef __cplusplus
}
#endif

#endif
