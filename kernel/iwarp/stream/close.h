/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a stream, as its endpoint sees it.
 */
#ifndef TERN_IWARP_STREAM_CLOSE_H
#define TERN_IWARP_STREAM_CLOSE_H

#include <linux/types.h>

struct iw_qp;
struct sock;

/* How far the end is. */
struct iw_close {
	bool wanted;	/* bytes that came and that the QP will still take */
	bool fin_in;	/* the peer has closed its half, and what it sent before is taken */
	bool closing;	/* our end is decided */
	bool fin_out;	/* what precedes our FIN is TCP's: send the FIN */
	bool lent;	/* TCP may still read memory of requests that are not complete */
};

/* Run the QP, tell it of the peer's FIN if that is in, and look. sk: its socket. May sleep. */
void iw_close_look(struct iw_qp *qp, struct sock *sk, struct iw_close *close);
/* The connection is over: ERR. May sleep. */
void iw_qp_closed(struct iw_qp *qp);
/*
 * The oldest request that is not complete: it changes while the peer makes progress. Any context.
 */
u32 iw_close_oldest(const struct iw_qp *qp);
/* Does the stream end in order (SQD), not by an error? Any context. */
bool iw_close_is_orderly(const struct iw_qp *qp);

#endif
