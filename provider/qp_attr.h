/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Whether the state of a QP lets WQEs be posted. */
#ifndef TERN_PROVIDER_QP_ATTR_H
#define TERN_PROVIDER_QP_ATTR_H

#include "objects.h"

namespace tern {

/*
 * May WQEs be posted to the send queue, the receive queue now? 0 or EINVAL. An
 * iWARP connection manager moves the QP on in the kernel, so there the kernel is
 * asked before a refusal: the only case in which this is a system call.
 */
int send_state_error(Qp *qp);
int recv_state_error(Qp *qp);

} // namespace tern

#endif
