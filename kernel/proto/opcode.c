// SPDX-License-Identifier: GPL-2.0
/*
 * The table of BTH opcodes (IBTA table 38 and RoCEv2 annex A17.9.3): which
 * exist per service, and which headers and payload each is made of. RD and
 * XRC rows are empty: tern does not speak them.
 */
#include "pkt.h"

#define FIRST_LAST	(OPF_FIRST | OPF_LAST)
#define REQ		(OPF_VALID | OPF_REQUEST)
#define REQ_DATA	(REQ | OPF_PAYLOAD)
#define RESP		OPF_VALID
#define RESP_DATA	(RESP | OPF_READ | OPF_PAYLOAD)

/* Length of a header if flags f call for it. */
#define HDR(f, flag, bytes)	(((f) & (flag)) ? (bytes) : 0)
#define HDR_BYTES(f)							\
	(BTH_BYTES + HDR(f, OPF_RETH, RETH_BYTES) +			\
	 HDR(f, OPF_AETH, AETH_BYTES) + HDR(f, OPF_DETH, DETH_BYTES) +	\
	 HDR(f, OPF_ATOMICETH, ATOMICETH_BYTES) +			\
	 HDR(f, OPF_ATOMICACK, ATOMICACKETH_BYTES) +			\
	 HDR(f, OPF_IMM, IMMDT_BYTES) + HDR(f, OPF_IETH, IETH_BYTES) +	\
	 HDR(f, OPF_CNP, CNP_RESERVED_BYTES))

#define ROW(opcode, f)	[opcode] = { .flags = (f), .hdr_bytes = HDR_BYTES(f) }

/* SEND and WRITE, alike in RC and UC. */
#define SEND_WRITE_ROWS(svc)						\
	ROW((svc) | OP_SEND_FIRST, REQ_DATA | OPF_SEND | OPF_FIRST),	\
	ROW((svc) | OP_SEND_MIDDLE, REQ_DATA | OPF_SEND),		\
	ROW((svc) | OP_SEND_LAST, REQ_DATA | OPF_SEND | OPF_LAST),	\
	ROW((svc) | OP_SEND_LAST_IMM, REQ_DATA | OPF_SEND | OPF_LAST | OPF_IMM), \
	ROW((svc) | OP_SEND_ONLY, REQ_DATA | OPF_SEND | FIRST_LAST),	\
	ROW((svc) | OP_SEND_ONLY_IMM, REQ_DATA | OPF_SEND | FIRST_LAST | OPF_IMM), \
	ROW((svc) | OP_WRITE_FIRST, REQ_DATA | OPF_WRITE | OPF_FIRST | OPF_RETH), \
	ROW((svc) | OP_WRITE_MIDDLE, REQ_DATA | OPF_WRITE),		\
	ROW((svc) | OP_WRITE_LAST, REQ_DATA | OPF_WRITE | OPF_LAST),	\
	ROW((svc) | OP_WRITE_LAST_IMM, REQ_DATA | OPF_WRITE | OPF_LAST | OPF_IMM), \
	ROW((svc) | OP_WRITE_ONLY, REQ_DATA | OPF_WRITE | FIRST_LAST | OPF_RETH), \
	ROW((svc) | OP_WRITE_ONLY_IMM,					\
	    REQ_DATA | OPF_WRITE | FIRST_LAST | OPF_RETH | OPF_IMM)

static const struct opcode_info opcodes[256] = {
	SEND_WRITE_ROWS(BTH_RC),
	ROW(BTH_RC | OP_SEND_LAST_INV, REQ_DATA | OPF_SEND | OPF_LAST | OPF_IETH),
	ROW(BTH_RC | OP_SEND_ONLY_INV, REQ_DATA | OPF_SEND | FIRST_LAST | OPF_IETH),
	ROW(BTH_RC | OP_READ_REQUEST, REQ | OPF_READ | FIRST_LAST | OPF_RETH),
	ROW(BTH_RC | OP_CMP_SWAP, REQ | OPF_ATOMIC | FIRST_LAST | OPF_ATOMICETH),
	ROW(BTH_RC | OP_FETCH_ADD, REQ | OPF_ATOMIC | FIRST_LAST | OPF_ATOMICETH),
	ROW(BTH_RC | OP_READ_RESP_FIRST, RESP_DATA | OPF_FIRST | OPF_AETH),
	ROW(BTH_RC | OP_READ_RESP_MIDDLE, RESP_DATA),
	ROW(BTH_RC | OP_READ_RESP_LAST, RESP_DATA | OPF_LAST | OPF_AETH),
	ROW(BTH_RC | OP_READ_RESP_ONLY, RESP_DATA | FIRST_LAST | OPF_AETH),
	ROW(BTH_RC | OP_ACK, RESP | OPF_ACK | OPF_AETH),
	ROW(BTH_RC | OP_ATOMIC_ACK, RESP | OPF_ATOMIC | OPF_AETH | OPF_ATOMICACK),

	SEND_WRITE_ROWS(BTH_UC),

	ROW(BTH_UD | OP_SEND_ONLY, REQ_DATA | OPF_SEND | FIRST_LAST | OPF_DETH),
	ROW(BTH_UD | OP_SEND_ONLY_IMM, REQ_DATA | OPF_SEND | FIRST_LAST | OPF_DETH | OPF_IMM),

	ROW(BTH_CNP_OPCODE, OPF_VALID | OPF_CNP),
};

const struct opcode_info *opcode_info(u8 opcode)
{
	return &opcodes[opcode];
}
