/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FPDUs to be sent: length, markers, padding, CRC.
 */
#ifndef TERN_IWARP_STREAM_FRAME_H
#define TERN_IWARP_STREAM_FRAME_H

#include "proto/ddp.h"
#include "proto/mpa.h"

struct iw_qp;
struct iw_seg;

/* If both ends let FPDUs span TCP segments: so large that headers and CRCs hardly count. */
#define IW_MAX_FPDU_BYTES	16384

/*
 * Write a segment with its payload behind what is written, where iw_out_has_room(). 0, or mem/'s
 * error: what is wrong with the payload's memory, and nothing is written. Socket and run_lock held.
 */
int iw_frame_write(struct iw_qp *qp, const struct iw_seg *seg);

#define IW_TERMINATE_BYTES	(MPA_LENGTH_BYTES + DDP_UNTAGGED_BYTES + RDMAP_TERM_BYTES + 3 + \
				 MPA_CRC_BYTES + MPA_MARKER_BYTES)
/*
 * A stream that is not to begin: its first and only FPDU on these terms, a Terminate. Returns how
 * many bytes it has. Any context.
 */
u32 iw_frame_terminate(const struct mpa_terms *terms, int code, u8 to[IW_TERMINATE_BYTES]);

#endif
