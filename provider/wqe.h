/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Work requests to WQEs: which are legal, and their bytes in the ring. Pure
 * functions on memory that the caller reserved. A refused request leaves garbage
 * in an unpublished slot, which is harmless.
 *
 * Errors are positive errno values. The kernel checks everything again. The
 * checks here let a post fail at once.
 */
#ifndef TERN_PROVIDER_WQE_H
#define TERN_PROVIDER_WQE_H

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>

#include "abi/release.h"
#include "ah.h"
#include "tern-abi.h"

namespace tern {

static_assert(sizeof(tern_sge) == sizeof(ibv_sge));
static_assert(offsetof(tern_sge, addr) == offsetof(ibv_sge, addr));
static_assert(offsetof(tern_sge, length) == offsetof(ibv_sge, length));
static_assert(offsetof(tern_sge, lkey) == offsetof(ibv_sge, lkey));
static_assert(sizeof(tern_send_wqe) == TERN_SEND_WQE_BYTES);
static_assert(sizeof(tern_recv_wqe) == TERN_RECV_WQE_BYTES);
static_assert(static_cast<int>(TERN_WR_RDMA_WRITE) == IBV_WR_RDMA_WRITE);
static_assert(static_cast<int>(TERN_WR_SEND_WITH_INV) == IBV_WR_SEND_WITH_INV);
static_assert(static_cast<int>(TERN_WR_BIND_MW) == IBV_WR_BIND_MW);
static_assert(static_cast<int>(TERN_SEND_FENCE) == IBV_SEND_FENCE);
static_assert(static_cast<int>(TERN_SEND_SIGNALED) == IBV_SEND_SIGNALED);
static_assert(static_cast<int>(TERN_SEND_SOLICITED) == IBV_SEND_SOLICITED);
static_assert(static_cast<int>(TERN_SEND_INLINE) == IBV_SEND_INLINE);

/* IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT, which older headers lack. */
inline constexpr uint32_t kAccessFlush = 1u << 8 | 1u << 9;

/* Largest message (IBTA 9.7.2: 2^31 bytes). */
inline constexpr uint64_t kMaxMessageBytes = 1ull << 31;

/* Limits of one send queue. max_sge and max_inline fit its stride. */
struct SendLimits {
	uint32_t max_sge;
	uint32_t max_inline; /* bytes */
	ibv_qp_type qp_type;
	bool sig_all;
	bool iwarp;
};

/* What may follow the header of a WQE. */
enum class SendBody : uint8_t { kNone, kData, kSges, kAtomic, kValue };

struct SendRule {
	uint16_t qp_types; /* bits of 1 << enum ibv_qp_type, and kIwarp */
	SendBody body;
};

inline constexpr uint16_t kIwarp = 1u << 0; /* RC over iWARP */
inline constexpr uint16_t kRc = 1u << IBV_QPT_RC;
inline constexpr uint16_t kUc = 1u << IBV_QPT_UC;
inline constexpr uint16_t kUd = 1u << IBV_QPT_UD;
inline constexpr uint16_t kXrc = 1u << IBV_QPT_XRC_SEND;

/*
 * By enum tern_wr_opcode, which begins as enum ibv_wr_opcode does. IBTA 10.8.3.2 says which
 * operation goes on which service. iWARP has the messages of RFC 5040 and 7306; none of them is a
 * Send with immediate data, a FLUSH or an ATOMIC WRITE.
 */
inline constexpr SendRule kSendRules[] = {
	/* RDMA_WRITE */ {kIwarp | kRc | kUc | kXrc, SendBody::kData},
	/* RDMA_WRITE_WITH_IMM */ {kIwarp | kRc | kUc | kXrc, SendBody::kData},
	/* SEND */ {kIwarp | kRc | kUc | kUd | kXrc, SendBody::kData},
	/* SEND_WITH_IMM */ {kRc | kUc | kUd | kXrc, SendBody::kData},
	/* RDMA_READ */ {kIwarp | kRc | kXrc, SendBody::kSges},
	/* ATOMIC_CMP_AND_SWP */ {kIwarp | kRc | kXrc, SendBody::kAtomic},
	/* ATOMIC_FETCH_AND_ADD */ {kIwarp | kRc | kXrc, SendBody::kAtomic},
	/* LOCAL_INV */ {kIwarp | kRc | kUc | kXrc, SendBody::kNone},
	/* BIND_MW */ {kIwarp | kRc | kUc | kXrc, SendBody::kNone},
	/* SEND_WITH_INV */ {kIwarp | kRc | kXrc, SendBody::kData},
	/* REG_MR */ {0, SendBody::kNone},
	/* RDMA_READ_WITH_INV */ {0, SendBody::kNone},
	/* FLUSH */ {kRc, SendBody::kNone},
	/* ATOMIC_WRITE */ {kRc, SendBody::kValue},
};
static_assert(sizeof(kSendRules) / sizeof(kSendRules[0]) == TERN_WR_OPCODES);
inline constexpr uint32_t kSendOpcodes = sizeof(kSendRules) / sizeof(kSendRules[0]);

/* The bit of SendRule.qp_types for a kind of QP, or 0. */
constexpr uint32_t send_service(ibv_qp_type type, bool iwarp)
{
	switch (type) {
	case IBV_QPT_RC:
		return iwarp ? kIwarp : kRc;
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
		return iwarp ? 0 : 1u << type;
	default:
		return 0;
	}
}

/* The rule of an opcode on this kind of QP, or NULL if the QP does not have it. */
constexpr const SendRule *send_rule(uint32_t opcode, ibv_qp_type type, bool iwarp)
{
	if (opcode >= kSendOpcodes || !(kSendRules[opcode].qp_types & send_service(type, iwarp)))
		return nullptr;
	return &kSendRules[opcode];
}

/* Those of ibv_post_send(). The others are posted by ibv_wr_* only. */
constexpr bool is_classic(uint32_t opcode)
{
	return opcode <= IBV_WR_SEND_WITH_INV;
}

/* The IBV_QP_EX_WITH_* bit of an opcode. */
constexpr uint64_t send_op_of(uint32_t opcode)
{
	if (is_classic(opcode))
		return 1ull << opcode;
	return opcode == TERN_WR_FLUSH ? abi::kWithFlush : abi::kWithAtomicWrite;
}

/* Does a legal request of this opcode name an SRQ of the peer? Local ones do not. */
constexpr bool send_needs_srqn(uint32_t opcode, ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND && kSendRules[opcode].body != SendBody::kNone;
}

/* IBV_QP_EX_WITH_* bits of the ibv_wr_* operations that a kind of QP has. */
constexpr uint64_t send_ops_of(ibv_qp_type type, bool iwarp)
{
	uint64_t ops = 0;

	for (uint32_t opcode = 0; opcode < kSendOpcodes; opcode++)
		if (send_rule(opcode, type, iwarp))
			ops |= send_op_of(opcode);
	return ops;
}
static_assert(IBV_QP_EX_WITH_SEND_WITH_INV == 1 << IBV_WR_SEND_WITH_INV);
static_assert(IBV_QP_EX_WITH_BIND_MW == 1 << IBV_WR_BIND_MW);

inline tern_sge *wqe_sges(tern_send_wqe *wqe)
{
	return reinterpret_cast<tern_sge *>(wqe + 1);
}

inline unsigned char *wqe_inline(tern_send_wqe *wqe)
{
	return reinterpret_cast<unsigned char *>(wqe + 1);
}

/*
 * Write a header with opcode and flags (IBV_SEND_*), the rest zero, and no body.
 * EINVAL for unknown flags. Adds SIGNALED on a QP that signals everything.
 */
inline int wqe_begin(tern_send_wqe *wqe, const SendLimits &lim, uint64_t wr_id, uint32_t opcode,
		     uint32_t flags)
{
	if (flags & ~TERN_SEND_FLAGS_ALL)
		return EINVAL;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr_id;
	wqe->opcode = static_cast<uint8_t>(opcode);
	wqe->flags = static_cast<uint8_t>(flags | (lim.sig_all ? TERN_SEND_SIGNALED : 0));
	return 0;
}

/* Make SGEs the body. EINVAL beyond max_sge or 2^31 bytes. */
inline int wqe_set_sges(tern_send_wqe *wqe, const SendLimits &lim, const ibv_sge *sges,
			size_t num_sge)
{
	tern_sge *to = wqe_sges(wqe);
	uint64_t bytes = 0;

	if (num_sge > lim.max_sge)
		return EINVAL;
	for (size_t i = 0; i < num_sge; i++) {
		to[i] = {sges[i].addr, sges[i].length, sges[i].lkey};
		bytes += sges[i].length;
	}
	if (bytes > kMaxMessageBytes)
		return EINVAL;
	wqe->num_sge = static_cast<uint16_t>(num_sge);
	return 0;
}

/* Append inline data. EINVAL if that makes more than max_inline bytes. */
inline int wqe_add_inline(tern_send_wqe *wqe, const SendLimits &lim, const void *data, size_t bytes)
{
	if (bytes > lim.max_inline - wqe->inline_bytes)
		return EINVAL;
	if (bytes)
		memcpy(wqe_inline(wqe) + wqe->inline_bytes, data, bytes);
	wqe->inline_bytes += static_cast<uint32_t>(bytes);
	wqe->flags |= TERN_SEND_INLINE;
	return 0;
}

/* ATOMIC WRITE has 8 bytes, which are taken at once. EINVAL if the queue has no room for them. */
inline int wqe_set_value(tern_send_wqe *wqe, const SendLimits &lim, const void *value)
{
	return wqe_add_inline(wqe, lim, value, sizeof(uint64_t));
}

/* FLUSH of a range of at most 2^31 bytes, or of a region. EINVAL for what does not exist. */
inline int wqe_set_flush(tern_send_wqe *wqe, uint32_t rkey, uint64_t remote_addr, size_t bytes,
			 uint8_t placement, uint8_t selectivity)
{
	if (!placement || placement & ~(TERN_FLUSH_GLOBAL | TERN_FLUSH_PERSISTENT))
		return EINVAL;
	if (selectivity > TERN_FLUSH_REGION)
		return EINVAL;
	if (selectivity == TERN_FLUSH_RANGE && bytes > kMaxMessageBytes)
		return EINVAL;
	wqe->flush.remote_addr = remote_addr;
	wqe->flush.rkey = rkey;
	wqe->flush.bytes = selectivity == TERN_FLUSH_RANGE ? static_cast<uint32_t>(bytes) : 0;
	wqe->flush.placement = placement;
	wqe->flush.selectivity = selectivity;
	return 0;
}

/* Atomics have exactly one SGE of 8 bytes. */
inline int wqe_check_atomic(tern_send_wqe *wqe)
{
	if (wqe->num_sge != 1 || wqe_sges(wqe)[0].length != sizeof(uint64_t))
		return EINVAL;
	return 0;
}

/*
 * Bind arguments. new_rkey differs from the window's key in the low byte only. A
 * region is needed unless length is 0 (which the kernel accepts for type 1 only).
 * Programs pass the flags of the region's registration: those that do not
 * concern remote access are ignored.
 */
inline int wqe_set_bind(tern_send_wqe *wqe, const ibv_mw *mw, uint32_t new_rkey,
			const ibv_mw_bind_info &info)
{
	constexpr uint32_t kAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
	constexpr uint32_t kIgnored = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
				      IBV_ACCESS_HUGETLB | kAccessFlush | IBV_ACCESS_OPTIONAL_RANGE;

	if (!mw || (mw->rkey ^ new_rkey) >> 8)
		return EINVAL;
	if ((!info.mr && info.length) || info.mw_access_flags & ~(kAccess | kIgnored))
		return EINVAL;
	if (info.mr && info.mr->pd->handle != mw->pd->handle)
		return EPERM;
	wqe->mw.addr = info.addr;
	wqe->mw.length = info.length;
	wqe->mw.mw_rkey = mw->rkey;
	wqe->mw.new_rkey = new_rkey;
	wqe->mw.mr_lkey = info.mr ? info.mr->lkey : 0;
	wqe->mw.access = info.mw_access_flags & kAccess;
	return 0;
}

inline int wqe_set_ud(tern_send_wqe *wqe, const ibv_ah *ah, uint32_t remote_qpn,
		      uint32_t remote_qkey)
{
	if (!ah || remote_qpn >> 24)
		return EINVAL;
	wqe->ud.ah = to_ah(ah)->index;
	wqe->ud.remote_qpn = remote_qpn;
	wqe->ud.remote_qkey = remote_qkey;
	return 0;
}

/* XRC: whose receive queue and PD the request is for. SRQ numbers have 24 bits. */
inline int wqe_set_srqn(tern_send_wqe *wqe, uint32_t srqn)
{
	if (srqn >> 24)
		return EINVAL;
	wqe->srqn = srqn;
	return 0;
}

/* Body of SGEs or inline data, by the flags and the opcode's rule. */
inline int wqe_encode_body(tern_send_wqe *wqe, const SendLimits &lim, SendBody body,
			   const ibv_send_wr &wr)
{
	if (body == SendBody::kNone) {
		wqe->flags &= static_cast<uint8_t>(~TERN_SEND_INLINE);
		return 0;
	}
	if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > lim.max_sge)
		return EINVAL;
	if (!(wr.send_flags & IBV_SEND_INLINE))
		return wqe_set_sges(wqe, lim, wr.sg_list, static_cast<size_t>(wr.num_sge));
	if (body != SendBody::kData)
		return EINVAL;
	for (int i = 0; i < wr.num_sge; i++) {
		const ibv_sge &sge = wr.sg_list[i];
		/* The verbs interface gives addresses as integers. */
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		auto *data = reinterpret_cast<const void *>(static_cast<uintptr_t>(sge.addr));
		int err = wqe_add_inline(wqe, lim, data, sge.length);

		if (err)
			return err;
	}
	return 0;
}

/* Write a work request of ibv_post_send() to a slot of the SQ. 0, EINVAL, EPERM. */
inline int wqe_encode_send(tern_send_wqe *wqe, const SendLimits &lim, const ibv_send_wr &wr)
{
	const SendRule *rule = send_rule(wr.opcode, lim.qp_type, lim.iwarp);
	int err;

	if (!rule || !is_classic(wr.opcode))
		return EINVAL;
	err = wqe_begin(wqe, lim, wr.wr_id, wr.opcode, wr.send_flags);
	if (err)
		return err;

	switch (wr.opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wqe->imm = wr.imm_data;
		[[fallthrough]];
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		wqe->rdma.remote_addr = wr.wr.rdma.remote_addr;
		wqe->rdma.rkey = wr.wr.rdma.rkey;
		break;
	case IBV_WR_SEND_WITH_IMM:
		wqe->imm = wr.imm_data;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wqe->inv_key = wr.invalidate_rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->atomic.remote_addr = wr.wr.atomic.remote_addr;
		wqe->atomic.compare_add = wr.wr.atomic.compare_add;
		wqe->atomic.swap = wr.wr.atomic.swap;
		wqe->atomic.rkey = wr.wr.atomic.rkey;
		break;
	case IBV_WR_BIND_MW:
		if (!wr.bind_mw.mw || wr.bind_mw.mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		err = wqe_set_bind(wqe, wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
		break;
	default:
		break;
	}
	if (!err && lim.qp_type == IBV_QPT_UD)
		err = wqe_set_ud(wqe, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
	if (!err && send_needs_srqn(wr.opcode, lim.qp_type))
		err = wqe_set_srqn(wqe, wr.qp_type.xrc.remote_srqn);
	if (!err)
		err = wqe_encode_body(wqe, lim, rule->body, wr);
	if (!err && rule->body == SendBody::kAtomic)
		err = wqe_check_atomic(wqe);
	return err;
}

/* Write a receive request to a slot of an RQ or SRQ. 0 or EINVAL. */
inline int wqe_encode_recv(void *slot, uint32_t max_sge, const ibv_recv_wr &wr)
{
	auto *wqe = static_cast<tern_recv_wqe *>(slot);

	if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > max_sge)
		return EINVAL;
	wqe->wr_id = wr.wr_id;
	wqe->num_sge = static_cast<uint32_t>(wr.num_sge);
	wqe->reserved = 0;
	if (wr.num_sge)
		memcpy(wqe + 1, wr.sg_list, static_cast<size_t>(wr.num_sge) * sizeof(tern_sge));
	return 0;
}

/* The smallest stride with room for what the kernel granted. */
constexpr uint32_t send_stride(uint32_t max_sge, uint32_t max_inline)
{
	const uint32_t sge_bytes = max_sge * sizeof(tern_sge);

	return TERN_SEND_WQE_BYTES + (sge_bytes > max_inline ? sge_bytes : max_inline);
}

constexpr uint32_t recv_stride(uint32_t max_sge)
{
	return TERN_RECV_WQE_BYTES + max_sge * sizeof(tern_sge);
}

} // namespace tern

#endif
