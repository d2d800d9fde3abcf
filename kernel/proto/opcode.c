// SPDX-License-Identifier: GPL-2.0
/*
 * The table of BTH opcodes (IBTA table 38, annexes A17.9.3 and A19): which opcodes each service
 * has, and which headers and payload they have. XRC has those of RC except FLUSH and ATOMIC WRITE,
 * and annex A14's header in each request. RD's rows are empty: tern does not support it.
 */
#include "opcode.h"

#define FIRST_LAST	(OPF_FIRST | OPF_LAST)
#define REQ		(OPF_VALID | OPF_REQUEST)
#define REQ_DATA	(REQ | OPF_PAYLOAD)
#define RESP		OPF_VALID
#define RESP_DATA	(RESP | OPF_READ | OPF_PAYLOAD)

/* Length of a header if flags f require it. */
#define HDR(f, flag, bytes)	(((f) & (flag)) ? (bytes) : 0)
#define HDR_BYTES(f)							\
	(BTH_BYTES + HDR(f, OPF_XRCETH, XRCETH_BYTES) +			\
	 HDR(f, OPF_FETH, FETH_BYTES) +					\
	 HDR(f, OPF_RETH, RETH_BYTES) +					\
	 HDR(f, OPF_AETH, AETH_BYTES) + HDR(f, OPF_DETH, DETH_BYTES) +	\
	 HDR(f, OPF_ATOMICETH, ATOMICETH_BYTES) +			\
	 HDR(f, OPF_ATOMICACK, ATOMICACKETH_BYTES) +			\
	 HDR(f, OPF_IMM, IMMDT_BYTES) + HDR(f, OPF_IETH, IETH_BYTES) +	\
	 HDR(f, OPF_CNP, CNP_RESERVED_BYTES))

#define ROW(opcode, f)	[opcode] = { .flags = (f), .hdr_bytes = HDR_BYTES(f) }

/* SEND and WRITE: the same in RC, UC and XRC except for eth, a header that each packet has. */
#define SEND_WRITE_ROWS(svc, eth)					\
	ROW((svc) | OP_SEND_FIRST, REQ_DATA | (eth) | OPF_SEND | OPF_FIRST), \
	ROW((svc) | OP_SEND_MIDDLE, REQ_DATA | (eth) | OPF_SEND),	\
	ROW((svc) | OP_SEND_LAST, REQ_DATA | (eth) | OPF_SEND | OPF_LAST), \
	ROW((svc) | OP_SEND_LAST_IMM, REQ_DATA | (eth) | OPF_SEND | OPF_LAST | OPF_IMM), \
	ROW((svc) | OP_SEND_ONLY, REQ_DATA | (eth) | OPF_SEND | FIRST_LAST), \
	ROW((svc) | OP_SEND_ONLY_IMM, REQ_DATA | (eth) | OPF_SEND | FIRST_LAST | OPF_IMM), \
	ROW((svc) | OP_WRITE_FIRST, REQ_DATA | (eth) | OPF_WRITE | OPF_FIRST | OPF_RETH), \
	ROW((svc) | OP_WRITE_MIDDLE, REQ_DATA | (eth) | OPF_WRITE),	\
	ROW((svc) | OP_WRITE_LAST, REQ_DATA | (eth) | OPF_WRITE | OPF_LAST), \
	ROW((svc) | OP_WRITE_LAST_IMM, REQ_DATA | (eth) | OPF_WRITE | OPF_LAST | OPF_IMM), \
	ROW((svc) | OP_WRITE_ONLY, REQ_DATA | (eth) | OPF_WRITE | FIRST_LAST | OPF_RETH), \
	ROW((svc) | OP_WRITE_ONLY_IMM,					\
	    REQ_DATA | (eth) | OPF_WRITE | FIRST_LAST | OPF_RETH | OPF_IMM)

/* What RC and XRC have besides. */
#define RELIABLE_ROWS(svc, eth)						\
	ROW((svc) | OP_SEND_LAST_INV, REQ_DATA | (eth) | OPF_SEND | OPF_LAST | OPF_IETH), \
	ROW((svc) | OP_SEND_ONLY_INV, REQ_DATA | (eth) | OPF_SEND | FIRST_LAST | OPF_IETH), \
	ROW((svc) | OP_READ_REQUEST, REQ | (eth) | OPF_READ | FIRST_LAST | OPF_RETH), \
	ROW((svc) | OP_CMP_SWAP, REQ | (eth) | OPF_ATOMIC | FIRST_LAST | OPF_ATOMICETH), \
	ROW((svc) | OP_FETCH_ADD, REQ | (eth) | OPF_ATOMIC | FIRST_LAST | OPF_ATOMICETH), \
	ROW((svc) | OP_READ_RESP_FIRST, RESP_DATA | OPF_FIRST | OPF_AETH), \
	ROW((svc) | OP_READ_RESP_MIDDLE, RESP_DATA),			\
	ROW((svc) | OP_READ_RESP_LAST, RESP_DATA | OPF_LAST | OPF_AETH), \
	ROW((svc) | OP_READ_RESP_ONLY, RESP_DATA | FIRST_LAST | OPF_AETH), \
	ROW((svc) | OP_ACK, RESP | OPF_ACK | OPF_AETH),			\
	ROW((svc) | OP_ATOMIC_ACK, RESP | OPF_ATOMIC | OPF_AETH | OPF_ATOMICACK)

const struct opcode_info opcode_infos[256] = {
	SEND_WRITE_ROWS(BTH_RC, 0),
	RELIABLE_ROWS(BTH_RC, 0),
	ROW(BTH_RC | OP_FLUSH, REQ | OPF_FLUSH | FIRST_LAST | OPF_FETH | OPF_RETH),
	ROW(BTH_RC | OP_ATOMIC_WRITE, REQ_DATA | OPF_ATOMIC_WRITE | FIRST_LAST | OPF_RETH),

	SEND_WRITE_ROWS(BTH_UC, 0),

	ROW(BTH_UD | OP_SEND_ONLY, REQ_DATA | OPF_SEND | FIRST_LAST | OPF_DETH),
	ROW(BTH_UD | OP_SEND_ONLY_IMM, REQ_DATA | OPF_SEND | FIRST_LAST | OPF_DETH | OPF_IMM),

	SEND_WRITE_ROWS(BTH_XRC, OPF_XRCETH),
	RELIABLE_ROWS(BTH_XRC, OPF_XRCETH),

	ROW(BTH_CNP_OPCODE, OPF_VALID | OPF_CNP),
};
