/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero-copy transmit: the payload of long WRITEs and SENDs is lent to TCP where it
 * lies, not copied, on streams without CRCs. A loan is what is lent within one run
 * of the QP, LOAN_BYTES or so. It is returned when no packet has any of it left:
 * the peer has acknowledged all, and neither a queue nor the netdev has a copy. Until
 * then the requests that it is of do not complete (iw_req_lend()), for whoever owns
 * the memory may write to it when they have.
 *
 * So completions of lent memory wait for the peer. That must not be felt: it is lent
 * only while much more is posted behind it, more than the path takes. What is behind
 * makes the peer acknowledge in time, and keeps the stream busy until then.
 *
 * READs' responses are copied: who takes a peer's rights away cannot wait for that
 * peer, and what TCP sends again must not show what the memory is used for then.
 *
 * To a receiver on the same host the stack copies, and says so: then the stream lends
 * no more.
 */
#ifndef TERN_IWARP_LEND_H
#define TERN_IWARP_LEND_H

#include <linux/types.h>

struct iw_lender;
struct iw_qp;
struct iw_seg;
struct sock;

/* Payload of an FPDU, at most. */
#define IW_LENT_FPDU_BYTES	(32 << 10)

/* For a QP whose stream has no CRCs and no markers. NULL: switched off, or no memory. May sleep. */
struct iw_lender *iw_lender_create(struct iw_qp *qp);
/* The QP goes; loans are returned to nobody from now on. NULL is fine. May sleep. */
void iw_lender_destroy(struct iw_lender *lender);
/* Before the module goes: the last loan is returned, or will be within moments. May sleep. */
void iw_lenders_exit(void);

/* ---- socket and run_lock held. The QP has a lender. ---- */

/* Is some of the request whose turn it is to be lent? */
bool iw_lend_wanted(const struct iw_qp *qp, const struct sock *sk);
/*
 * Look up its memory where it goes on, to iw_lend_end(). False: it is to be copied, which
 * tells what is wrong with it if something is.
 */
bool iw_lend_begin(struct iw_qp *qp);
/*
 * Write an FPDU: seg's header to hdr, where there is room for IW_LENT_FRAME_BYTES, its padding
 * and CRC field (of zeros) behind that, and lend its payload. Bytes of the page used; 0: that
 * one is to be copied.
 */
u32 iw_lend_fpdu(struct iw_qp *qp, const struct iw_seg *seg, u8 *hdr);
#define IW_LENT_FRAME_BYTES	64
/* Is there room for another before the next iw_lend_push()? */
bool iw_lend_has_room(const struct iw_lender *lender);
/*
 * FPDUs to TCP: bytes taken, or an error. What is left is for the next call; after an error
 * other than -EAGAIN, which is the stream's end, nothing is.
 */
int iw_lend_push(struct iw_lender *lender, struct sock *sk, int flags);
/* What TCP has not taken stays, whatever becomes of the registration. */
void iw_lend_end(struct iw_lender *lender);
/* Bytes that TCP has not taken. */
u32 iw_lend_left(const struct iw_lender *lender);
/* The run ends. */
void iw_lend_close(struct iw_lender *lender);
/* Tell the engine what is returned. */
void iw_lend_settle(struct iw_qp *qp);

#endif
