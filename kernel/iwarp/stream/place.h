/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload from the socket's queue to registered memory, copied once. Socket and run_lock held; c
 * has all n bytes.
 */
#ifndef TERN_IWARP_STREAM_PLACE_H
#define TERN_IWARP_STREAM_PLACE_H

#include "iwarp/stream/cursor.h"
#include "iwarp/stream/state.h"
#include "tern-abi.h"

/* To offset off of these SGEs. 0, or mem/'s error. */
int iw_place_sges(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c,
		  const struct tern_sge *sge, u32 num_sge, u64 off, u32 n);
/* To va of the key stag, which must allow remote writes. 0, or mem/'s error. */
int iw_place_tagged(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c, u32 stag, u64 va,
		    u32 n);

#endif
