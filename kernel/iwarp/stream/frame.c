// SPDX-License-Identifier: GPL-2.0
/*
 * Segments into FPDUs. Payload is copied once, here; so an application that changes its buffer
 * after the CRC was computed harms only itself. Without CRCs some is not copied at all
 * (zerocopy.h).
 */
#include "crc.h"
#include "iwarp/stream/frame.h"
#include "iwarp/stream/out.h"
#include "iwarp/stream/state.h"
#include "mem/sgl.h"
#include "mem/span.h"
#include "queue/sq.h"

/* The payload of seg to dst. 0, or what is wrong with its memory. */
static int copy_payload(struct iw_qp *qp, const struct iw_seg *seg, u8 *dst)
{
	struct tern_send_wqe *wqe;

	if (!seg->bytes)
		return 0;
	if (seg->kind == IW_SEG_READ_RESP)
		return tern_span_read_once(&qp->base.mem, seg->stag, seg->va, seg->bytes,
					   IB_ACCESS_REMOTE_READ, 0, dst, seg->bytes);
	wqe = tern_sq_wqe(&qp->base.sq, seg->slot);
	if (wqe->flags & TERN_SEND_INLINE) {
		memcpy(dst, (u8 *)tern_wqe_inline(wqe) + seg->offset, seg->bytes);
		return 0;
	}
	return tern_sges_read(&qp->base.mem, tern_wqe_sge(wqe), wqe->num_sge, seg->offset, dst,
			      seg->bytes);
}

/*
 * An FPDU, whose ULPDU is in its place at p, to `to`, which is at stream position pos. The same
 * place as p, if there are no markers. Returns how many bytes.
 */
static u32 finish_fpdu(const struct mpa_terms *terms, u8 *to, u8 *p, u32 ulpdu, u64 pos)
{
	u32 pad = mpa_pad_bytes(ulpdu);
	u32 n = MPA_LENGTH_BYTES + ulpdu + pad;
	__le32 crc = 0;

	put_unaligned_be16(ulpdu, p);
	memset(p + MPA_LENGTH_BYTES + ulpdu, 0, pad);
	if (terms->tx_markers)
		n = mpa_insert_markers(to, p, n, pos);
	if (terms->crc)
		crc = cpu_to_le32(~tern_crc32c(~0, to, n));
	memcpy(to + n, &crc, MPA_CRC_BYTES);
	return n + MPA_CRC_BYTES;
}

int iw_frame_write(struct iw_qp *qp, const struct iw_seg *seg)
{
	struct iw_tx *tx = &qp->tx;
	u8 *at = iw_out_at(tx);
	u8 *p = qp->terms.tx_markers ? tx->bounce : at;
	int err;

	memcpy(p + MPA_LENGTH_BYTES, seg->hdr, seg->hdr_bytes);
	err = copy_payload(qp, seg, p + MPA_LENGTH_BYTES + seg->hdr_bytes);
	if (err)
		return err;
	iw_out_written(tx, finish_fpdu(&qp->terms, at, p, seg->hdr_bytes + seg->bytes, tx->pos));
	return 0;
}

u32 iw_frame_terminate(const struct mpa_terms *terms, int code, u8 to[IW_TERMINATE_BYTES])
{
	u8 p[IW_TERMINATE_BYTES - MPA_MARKER_BYTES];
	u8 *at = terms->tx_markers ? p : to;
	u32 n = rdmap_term_header(at + MPA_LENGTH_BYTES);

	n += rdmap_term_build(at + MPA_LENGTH_BYTES + n, code, NULL, 0, 0);
	return finish_fpdu(terms, to, at, n, 0);
}
