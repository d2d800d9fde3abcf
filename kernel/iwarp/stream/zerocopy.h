/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero-copy transmit: TCP gets the payload of long WRITEs and SENDs where it lies, not a copy, on
 * streams without CRCs. A batch is what TCP gets within one run of the QP, about ZC_BATCH_BYTES. It
 * is returned when no packet has any of it left: the peer has acknowledged all, and neither a queue
 * nor the netdev has a copy. Until then its requests do not complete (iw_req_lend(); the batch's
 * number is the engine's batch), as the owner of the memory may write to it when they have.
 *
 * So completions of such requests wait for the peer. That must not be felt: zero-copy is used only
 * while much more is posted behind the request, more than the path takes. What is behind makes the
 * peer acknowledge in time, and keeps the stream busy until then.
 *
 * READs' responses are copied: a program that takes a peer's rights away cannot wait for that peer,
 * and what TCP sends again must not show what the memory is used for then.
 *
 * To a receiver on the same host the stack copies, and reports that: then the stream copies from
 * there on.
 */
#ifndef TERN_IWARP_STREAM_ZEROCOPY_H
#define TERN_IWARP_STREAM_ZEROCOPY_H

#include <linux/types.h>

struct iw_qp;
struct iw_seg;
struct iw_zc;
struct sock;

/* Payload of an FPDU, at most. */
#define IW_ZC_FPDU_BYTES	(32 << 10)
/* What frames an FPDU: its header, padding and CRC field. */
#define IW_ZC_FRAME_BYTES	64

/* For a QP whose stream has no CRCs and no markers. NULL: switched off, or no memory. May sleep. */
struct iw_zc *iw_zc_create(struct iw_qp *qp);
/* The QP goes: it is not run for returned batches from now on. NULL is fine. May sleep. */
void iw_zc_destroy(struct iw_zc *zc);
/* Before the module goes: wait until the last batch is returned. May sleep. */
void iw_zc_exit(void);

/* ---- socket and run_lock held. The QP has tx.zc. ---- */

/* Is the request whose turn it is worth it, now? */
bool iw_zc_wanted(const struct iw_qp *qp, const struct sock *sk);
/*
 * Look up the request's memory where it goes on; it is held until iw_zc_end(). False: copy it,
 * which reports what is wrong with it if something is.
 */
bool iw_zc_begin(struct iw_qp *qp);
/*
 * Add an FPDU: seg's header is written to hdr, which has room for IW_ZC_FRAME_BYTES, its padding
 * and CRC field (of zeros) behind that; its payload stays where it lies. Returns bytes used at hdr;
 * 0: copy this FPDU.
 */
u32 iw_zc_add_fpdu(struct iw_qp *qp, const struct iw_seg *seg, u8 *hdr);
/* Is there room for another before the next iw_zc_push()? */
bool iw_zc_has_room(const struct iw_zc *zc);
/*
 * FPDUs to TCP: bytes taken, or an error. What is left is for the next call; after an error other
 * than -EAGAIN, which is the stream's end, nothing is.
 */
int iw_zc_push(struct iw_zc *zc, struct sock *sk, int flags);
/* What TCP has not taken keeps its pages, whatever becomes of the registration. */
void iw_zc_end(struct iw_zc *zc);
/* Bytes that TCP has not taken. */
u32 iw_zc_left(const struct iw_zc *zc);
/* The run ends, and with it the batch. */
void iw_zc_close_batch(struct iw_zc *zc);
/* Tell the engine which batches are returned. */
void iw_zc_reap(struct iw_qp *qp);

#endif
