/* SPDX-License-Identifier: GPL-2.0 */
/* The parameters of one direction of a connection, and its deliberate faults. */
#ifndef TERN_SIM_QP_H
#define TERN_SIM_QP_H

#include "ledger.h"

namespace sim {

struct QpCfg {
	bool uc = false;
	bool xrc = false; /* each work request names one of several SRQs */
	uint32_t pmtu = 1024;
	uint32_t psn = 0;
	uint32_t window = 64;
	uint32_t max_window = 0; /* more than window: it grows and shrinks */
	uint8_t max_rd_atomic = 4;
	uint8_t retry_cnt = 255;
	uint8_t rnr_retry = 7;
	uint8_t rnr_field = 1;
	uint64_t ack_timeout_ns = 60000;   /* the first wait */
	uint64_t least_ns = 0, all_ns = 0; /* struct rc_ack_timeout */
	uint64_t recv_wait_ns = 0;	   /* of the peer's responder */
	uint32_t rate_kbps = 0;		   /* struct pacer_rate */
	uint32_t burst_bytes = 0;
	uint32_t sq_entries = 64;
	uint32_t rq_entries = 64;
	uint32_t keep_requests = 0;  /* struct rc_resp_cfg, of the peer's responder */
	uint32_t keep_responses = 0; /* struct rc_req_cfg */
	uint32_t keep_room = 64;     /* packets that either has room for, at a time */
	uint32_t max_batch = 32;     /* of rc_req_next() and rc_resp_next() */
	double stretch = 0;	     /* runs that are handed over as a whole, in memory */
	double partial = 0.02;	     /* runs of which only a part is taken */
	double rq_dry = 0.02;	     /* receives after which the queue runs dry */
	uint32_t write_max = 16 << 10;
	uint32_t read_max = 16 << 10;
	uint32_t big_max = 0; /* a few are up to this long */
	bool locals = true;
	bool forget = false;	/* a READ's source is unreadable once the READ is complete */
	uint8_t only_op = 0xff; /* all work requests are of this kind */
	uint64_t quota = ~0ull; /* work requests to post */

	uint8_t fault = FAULT_NONE; /* applies to the first suitable work request ... */
	uint64_t fault_from = 0;    /* ... from this number on */
	uint32_t flush_at = 0;	    /* rc_req_flush() after this many completions */
	uint32_t drain_every = 0;   /* into SQD and back after every so many completions */

	uint8_t service() const { return uc ? BTH_UC : xrc ? BTH_XRC : BTH_RC; }
};

} /* namespace sim */

#endif
