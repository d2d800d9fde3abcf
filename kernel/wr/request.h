/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Posted send WQEs become work requests of a requester's engine. queue/wqe.c decides which
 * WQEs are legal; the transport's table says what each opcode is to its engine.
 */
#ifndef TERN_WR_REQUEST_H
#define TERN_WR_REQUEST_H

#include "core/qp.h"
#include "proto/wr.h"

/* In a transport's table, beside enum wr_op: it has no such message. */
#define TERN_WR_NO_OP	0xff

/*
 * Takes the next WQE that was posted to qp. op_of: enum wr_op of each opcode, or TERN_WR_NO_OP.
 * may_read: may a request have a response (wr_has_response())? A WQE that is malformed, has no
 * request or may not have its response becomes one that fails with LOC_QP_OP_ERR in its order, and
 * is no request that counts. 1: taken. 0: none is posted. -EOVERFLOW: the ring is broken. run_lock
 * held.
 */
int tern_wr_take(struct tern_qp *qp, const u8 op_of[TERN_WR_OPCODES], bool may_read, struct wr *wr);

#endif
