// SPDX-License-Identifier: GPL-2.0
/*
 * One FPDU: CRC first, then headers, then what they ask for. Nothing is believed, and no byte
 * placed, before the CRC was right. Responses are placed here; the peer's requests are execute.c's.
 */
#include "crc.h"
#include "core/stats.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/execute.h"
#include "iwarp/stream/fpdu.h"
#include "iwarp/stream/place.h"
#include "mem/invalidate.h"
#include "mem/sgl.h"
#include "queue/sq.h"

static int add_to_crc(void *arg, const u8 *p, u32 n)
{
	u32 *crc = arg;

	*crc = tern_crc32c(*crc, p, n);
	return 0;
}

/* Is the CRC of the n bytes at c the one in the field behind them? */
static bool is_crc_right(struct sock *sk, struct iw_cursor c, u32 n)
{
	const u8 *p = iw_cursor_in_head(&c, n + MPA_CRC_BYTES);
	u8 buf[MPA_CRC_BYTES];
	u32 crc = ~0;

	if (p)
		return get_unaligned_le32(p + n) == ~tern_crc32c(~0, p, n);
	if (iw_cursor_walk(sk, &c, n, add_to_crc, &crc))
		return false;
	p = iw_cursor_bytes(sk, &c, sizeof(buf), buf);
	return p && get_unaligned_le32(p) == ~crc;
}

static void send_terminate(struct iw_qp *qp, int code, const struct iw_fpdu *f, u32 ulpdu)
{
	iw_resp_terminate(&qp->resp, code, f ? f->head : NULL, f ? f->have : 0, ulpdu);
	iw_qp_refused(qp, code);
}

/*
 * If the READ was one with invalidate, its sink's key ends with it. That is not the key that the
 * work request names: rdma_rw_ctx_init() leaves the previous registration's there.
 */
static int invalidate_sink(struct iw_qp *qp, struct tern_send_wqe *wqe)
{
	if (wqe->opcode != TERN_WR_RDMA_READ_WITH_INV)
		return 0;
	return tern_mem_invalidate(&qp->base.mem, tern_wqe_sge(wqe)->lkey, false);
}

static void rx_response(struct iw_qp *qp, struct sock *sk, struct iw_fpdu *f)
{
	struct tern_send_wqe *wqe;
	struct iw_req_act act;
	u32 ulpdu = f->seg.hdr_bytes + f->seg.payload_bytes;
	int err;

	iw_req_rx(&qp->req, &f->seg, f->head + f->seg.hdr_bytes, &act);
	if (act.kind == IW_REQ_FATAL) {
		send_terminate(qp, act.term, f, ulpdu);
		return;
	}
	wqe = tern_sq_wqe(&qp->base.sq, act.slot);
	if (act.kind == IW_REQ_PLACE_ATOMIC) {
		err = tern_sges_write(&qp->base.mem, tern_wqe_sge(wqe), wqe->num_sge, 0,
				      &act.value, sizeof(act.value));
	} else {
		err = iw_place_sges(qp, sk, &f->payload, tern_wqe_sge(wqe), wqe->num_sge,
				    act.offset, act.bytes);
	}
	if (!err && f->seg.last)
		err = invalidate_sink(qp, wqe);
	if (err) {
		iw_req_fail(&qp->req, &qp->resp, act.slot, WR_ST_LOC_PROT_ERR);
		return;
	}
	iw_req_placed(&qp->req, &act, f->seg.last);
}

enum iw_step iw_fpdu_rx(struct iw_qp *qp, struct sock *sk, struct iw_cursor c, u32 n, u32 ulpdu)
{
	struct iw_fpdu f;
	int code;

	/* The initiator has sent something (RFC 5044 7.1.2), or the responder is there. */
	qp->tx.hold = false;
	qp->tx.rtr_repeats = 0;
	if (qp->terms.crc && !is_crc_right(sk, c, n)) {
		tern_qp_count(&qp->base, TERN_CNT_RX_ICRC_ERR);
		send_terminate(qp, TERM_MPA_CRC, NULL, 0);
		return IW_DONE;
	}
	c.off += MPA_LENGTH_BYTES;
	f.payload = c;
	f.have = min_t(u32, ulpdu, sizeof(f.buf));
	f.head = iw_cursor_bytes(sk, &f.payload, f.have, f.buf);
	if (!f.head) {
		send_terminate(qp, TERM_LOCAL, NULL, 0);
		return IW_DONE;
	}
	code = ddp_parse(f.head, f.have, ulpdu, &f.seg);
	if (code != TERM_NONE) {
		tern_qp_count(&qp->base, TERN_CNT_RX_MALFORMED);
		send_terminate(qp, code, &f, ulpdu);
		return IW_DONE;
	}
	f.payload.off += f.seg.hdr_bytes;
	if (f.seg.opcode == RDMAP_READ_RESP || f.seg.opcode == RDMAP_ATOMIC_RESP)
		rx_response(qp, sk, &f);
	else if (iw_execute(qp, sk, &f) == IW_BLOCKED)
		return IW_BLOCKED;
	tern_qp_count(&qp->base, TERN_CNT_RX_PKTS);
	tern_qp_count_add(&qp->base, TERN_CNT_RX_BYTES, f.seg.payload_bytes);
	return IW_DONE;
}
