/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run: consecutive packets of one message that an engine wants to send. Engines hand out runs;
 * the transport sends the first packets of each (one by one or as one GSO packet) and reports how
 * many it took. All packets of a run except the first and the last have the same size.
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
	u8  feth;
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
	u32 dma_bytes;		/* requests: RETH; READ_RESP: of the whole answer */
	u64 compare;
	u64 swap_add;
	u64 atomic_orig;
	__be32 imm;
	u32 inv_rkey;
	u32 srqn;		/* XRC requests: XRCETH; READ_RESP: of the request */
};

/*
 * Fill k (for pkt_build()) with the headers of packet i < run->npkts. Its payload is
 * k->payload_bytes bytes from message offset run->offset + i * run->pmtu. Not for RUN_LOCAL.
 */
void run_pkt(const struct run *run, u32 i, struct pkt *k);

/*
 * The whole run as one struct pkt (a "stretch"), where no packet is built. The opcode says whether
 * it begins and ends the message, k->npkts how many PSNs it takes, k->payload_bytes is all its
 * payload. The peer's engine treats it like k->npkts packets in a row. Fills k as pkt_parse() does.
 */
void run_stretch(const struct run *run, struct pkt *k);

#ifdef __cplusplus
}
#endif

#endif
