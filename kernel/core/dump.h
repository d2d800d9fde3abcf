/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Raw dumps (uapi/tern-dump.h): what of a QP every transport has. The transport's qp_dump() adds
 * its own; verbs/res.c asks for it, and dumps the other objects.
 */
#ifndef TERN_CORE_DUMP_H
#define TERN_CORE_DUMP_H

#include "tern-dump.h"

struct tern_qp;

/* Fills in all but hdr and what belongs to requester and responder, which stays. run_lock held. */
void tern_qp_dump(const struct tern_qp *qp, struct tern_dump_qp *dump);

#endif
