// SPDX-License-Identifier: GPL-2.0
/*
 * Legality of send WQEs. One table decides. What it cannot express (reserved
 * members, sizes) is checked per body and per argument.
 */
#include "queue/wqe.h"

enum wqe_body {
	BODY_NONE,
	BODY_DATA,	/* SGEs, or inline bytes */
	BODY_SGES,	/* SGEs for writing */
	BODY_ONE_SGE,
	BODY_ATOMIC,	/* one SGE of 8 bytes */
	BODY_VALUE,	/* one SGE of 8 bytes, or 8 inline bytes */
};

enum wqe_args {
	ARGS_NONE,
	ARGS_RDMA,
	ARGS_ATOMIC,
	ARGS_MW,
	ARGS_REG,
	ARGS_FLUSH,
};

#define RC	(1u << TERN_WQE_QPT_RC)
#define UC	(1u << TERN_WQE_QPT_UC)
#define UD	(1u << TERN_WQE_QPT_UD)
#define GSI	(1u << TERN_WQE_QPT_GSI)
#define XRC	(1u << TERN_WQE_QPT_XRC_INI)

struct wqe_rule {
	u16 user;	/* QP types that a user may post it to */
	u16 kernel;	/* QP types that a kernel consumer may post it to */
	u8 body;	/* enum wqe_body */
	u8 args;	/* enum wqe_args */
};

/* As in ibv_post_send(3), except that UC has no packet for SEND_WITH_INV. */
static const struct wqe_rule wqe_rules[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE]		= { RC | UC | XRC, RC | UC, BODY_DATA, ARGS_RDMA },
	[TERN_WR_RDMA_WRITE_WITH_IMM]	= { RC | UC | XRC, RC | UC, BODY_DATA, ARGS_RDMA },
	[TERN_WR_SEND]			= { RC | UC | UD | XRC, RC | UC | UD | GSI, BODY_DATA,
					    ARGS_NONE },
	[TERN_WR_SEND_WITH_IMM]		= { RC | UC | UD | XRC, RC | UC | UD | GSI, BODY_DATA,
					    ARGS_NONE },
	[TERN_WR_RDMA_READ]		= { RC | XRC, RC, BODY_SGES, ARGS_RDMA },
	[TERN_WR_ATOMIC_CMP_AND_SWP]	= { RC | XRC, RC, BODY_ATOMIC, ARGS_ATOMIC },
	[TERN_WR_ATOMIC_FETCH_AND_ADD]	= { RC | XRC, RC, BODY_ATOMIC, ARGS_ATOMIC },
	[TERN_WR_LOCAL_INV]		= { RC | UC | XRC, RC | UC, BODY_NONE, ARGS_NONE },
	[TERN_WR_BIND_MW]		= { RC | UC | XRC, RC | UC, BODY_NONE, ARGS_MW },
	[TERN_WR_SEND_WITH_INV]		= { RC | XRC, RC, BODY_DATA, ARGS_NONE },
	[TERN_WR_REG_MR]		= { 0, RC | UC, BODY_NONE, ARGS_REG },
	[TERN_WR_RDMA_READ_WITH_INV]	= { 0, RC, BODY_ONE_SGE, ARGS_RDMA },
	[TERN_WR_FLUSH]			= { RC, 0, BODY_NONE, ARGS_FLUSH },
	[TERN_WR_ATOMIC_WRITE]		= { RC, RC, BODY_VALUE, ARGS_RDMA },
};

static bool wqe_type_legal(const struct wqe_rule *rule, int qp_type, bool user)
{
	u32 types = user ? rule->user : rule->kernel;

	return qp_type >= TERN_WQE_QPT_GSI && qp_type <= TERN_WQE_QPT_XRC_INI &&
	       types & (1u << qp_type);
}

static bool wqe_inline_legal(const struct tern_send_wqe *wqe, enum wqe_body body,
			     const struct tern_wqe_limits *lim)
{
	if (body != BODY_DATA && (body != BODY_VALUE || wqe->inline_bytes != sizeof(u64)))
		return false;
	return !wqe->num_sge && wqe->inline_bytes <= lim->max_inline;
}

static bool wqe_body_legal(const struct tern_send_wqe *wqe, enum wqe_body body,
			   const struct tern_wqe_limits *lim)
{
	if (wqe->flags & TERN_SEND_INLINE)
		return wqe_inline_legal(wqe, body, lim);

	if (wqe->inline_bytes || wqe->num_sge > lim->max_sge)
		return false;

	switch (body) {
	case BODY_NONE:
		return !wqe->num_sge;
	case BODY_DATA:
	case BODY_SGES:
		return tern_wqe_sge_bytes(wqe) <= TERN_WQE_MAX_BYTES;
	case BODY_ONE_SGE:
		return wqe->num_sge == 1 && tern_wqe_sge_bytes(wqe) <= TERN_WQE_MAX_BYTES;
	case BODY_ATOMIC:
	case BODY_VALUE:
		return wqe->num_sge == 1 && tern_wqe_sges(wqe)->length == sizeof(u64);
	}
	return false;
}

/* SRQ numbers have 24 bits. */
static bool wqe_srqn_legal(const struct tern_send_wqe *wqe, int qp_type, bool user)
{
	if (qp_type == TERN_WQE_QPT_XRC_INI)
		return !(wqe->srqn >> 24);
	return !user || !wqe->srqn;
}

/* QP numbers have 24 bits. Only management chooses its P_Key per work request. */
static bool wqe_ud_legal(const struct tern_send_wqe *wqe, int qp_type, bool user)
{
	if (wqe->ud.remote_qpn >> 24)
		return false;
	return qp_type == TERN_WQE_QPT_GSI || !user || !wqe->ud.pkey_index;
}

static bool wqe_flush_legal(const struct tern_send_wqe *wqe)
{
	u8 placement = wqe->flush.placement;

	return placement && !(placement & ~(TERN_FLUSH_GLOBAL | TERN_FLUSH_PERSISTENT)) &&
	       wqe->flush.selectivity <= TERN_FLUSH_REGION &&
	       wqe->flush.bytes <= TERN_WQE_MAX_BYTES &&
	       !wqe->flush.reserved0 && !wqe->flush.reserved;
}

static bool wqe_args_legal(const struct tern_send_wqe *wqe, enum wqe_args args, bool user)
{
	switch (args) {
	case ARGS_NONE:
		return true;
	case ARGS_RDMA:
		return !user || !wqe->rdma.reserved;
	case ARGS_ATOMIC:
		return !user || !wqe->atomic.reserved;
	case ARGS_MW:
		return !(wqe->mw.access & ~TERN_WQE_BIND_ACCESS);
	case ARGS_REG:
		return true;
	case ARGS_FLUSH:
		return wqe_flush_legal(wqe);
	}
	return false;
}

int tern_wqe_check(const struct tern_send_wqe *wqe, int qp_type, const struct tern_wqe_limits *lim)
{
	const struct wqe_rule *rule;

	if (wqe->opcode >= TERN_WR_OPCODES)
		return -EINVAL;
	rule = &wqe_rules[wqe->opcode];

	if (!wqe_type_legal(rule, qp_type, lim->user))
		return -EINVAL;
	if (wqe->flags & ~TERN_SEND_FLAGS_ALL)
		return -EINVAL;
	if (!wqe_srqn_legal(wqe, qp_type, lim->user))
		return -EINVAL;
	if (!wqe_body_legal(wqe, (enum wqe_body)rule->body, lim))
		return -EINVAL;
	if (!wqe_args_legal(wqe, (enum wqe_args)rule->args, lim->user))
		return -EINVAL;
	if ((1u << qp_type) & (UD | GSI) && !wqe_ud_legal(wqe, qp_type, lim->user))
		return -EINVAL;
	return 0;
}
