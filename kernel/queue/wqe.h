/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decides which send WQEs are legal, on a private copy, by one table of opcodes
 * and QP types, for user and kernel posters. Execution checks whether keys,
 * address handles and remote addresses are valid.
 *
 * Pure: also built into the unit tests.
 */
#ifndef TERN_QUEUE_WQE_H
#define TERN_QUEUE_WQE_H

#include "proto/deps.h"
#include "tern-abi.h"

/* Values of enum ib_qp_type. */
enum tern_wqe_qp_type {
	TERN_WQE_QPT_GSI	= 1,
	TERN_WQE_QPT_RC		= 2,
	TERN_WQE_QPT_UC		= 3,
	TERN_WQE_QPT_UD		= 4,
	TERN_WQE_QPT_XRC_INI	= 9,
};

/* Payload of one message, by IBTA's max_msg_sz. */
#define TERN_WQE_MAX_BYTES	(1u << 31)

/* IBV_ACCESS_{REMOTE_WRITE,REMOTE_READ,REMOTE_ATOMIC,ZERO_BASED}: all a window can grant. */
#define TERN_WQE_BIND_ACCESS	0x2eu

struct tern_wqe_limits {
	u32 max_sge;
	u32 max_inline;		/* bytes */
	bool user;		/* posted from user space */
};

static inline struct tern_sge *tern_wqe_sge(struct tern_send_wqe *wqe)
{
	return (struct tern_sge *)(wqe + 1);
}

static inline void *tern_wqe_inline(struct tern_send_wqe *wqe)
{
	return wqe + 1;
}

static inline const struct tern_sge *tern_wqe_sges(const struct tern_send_wqe *wqe)
{
	return (const struct tern_sge *)(wqe + 1);
}

/*
 * The number of bytes that follow the header, by its own claim, clipped to room. Any header is
 * allowed.
 */
static inline u32 tern_wqe_tail_bytes(const struct tern_send_wqe *wqe, u32 room)
{
	u32 bytes;

	if (wqe->flags & TERN_SEND_INLINE)
		bytes = wqe->inline_bytes;
	else
		bytes = (u32)wqe->num_sge * (u32)sizeof(struct tern_sge);
	return bytes < room ? bytes : room;
}

/* Copies n bytes behind the header. The common case, one SGE, calls no function. */
static inline void tern_wqe_copy_tail(struct tern_send_wqe *wqe, const void *tail, u32 n)
{
	if (n == sizeof(struct tern_sge))
		memcpy(wqe + 1, tail, sizeof(struct tern_sge));
	else
		memcpy(wqe + 1, tail, n);
}

/* The sum of the lengths of num_sge SGEs. */
static inline u64 tern_wqe_sge_bytes(const struct tern_send_wqe *wqe)
{
	const struct tern_sge *sge = tern_wqe_sges(wqe);
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++)
		bytes += sge[i].length;
	return bytes;
}

/*
 * 0, or -EINVAL. At least max(max_sge * sizeof(struct tern_sge), max_inline) readable bytes that
 * nobody else writes follow wqe.
 *
 * Members named reserved must be zero in user WQEs. Bytes for which an opcode has no member (imm
 * without *_WITH_IMM, the union's unused rest) are ignored.
 */
int tern_wqe_check(const struct tern_send_wqe *wqe, int qp_type, const struct tern_wqe_limits *lim);

/* Total payload bytes of a validated WQE (at most TERN_WQE_MAX_BYTES). */
static inline u32 tern_wqe_bytes(const struct tern_send_wqe *wqe)
{
	if (wqe->flags & TERN_SEND_INLINE)
		return wqe->inline_bytes;
	return (u32)tern_wqe_sge_bytes(wqe);
}

#endif
