/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the peer's segments ask for: Sends, Writes, Read and Atomic Requests, Terminates.
 */
#ifndef TERN_IWARP_STREAM_EXECUTE_H
#define TERN_IWARP_STREAM_EXECUTE_H

#include "iwarp/stream/step.h"

struct iw_fpdu;
struct iw_qp;
struct sock;

/* As iw_fpdu_rx(), for a segment that is no response and whose headers are parsed. */
enum iw_step iw_execute(struct iw_qp *qp, struct sock *sk, struct iw_fpdu *f);

#endif
