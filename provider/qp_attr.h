/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* May WQEs be posted in the present state of a QP? */
#ifndef TERN_PROVIDER_QP_ATTR_H
#define TERN_PROVIDER_QP_ATTR_H

#include "objects.h"

namespace tern {

/*
 * May WQEs be posted to the send queue, to the receive queue? 0 or EINVAL. The
 * iWARP connection manager changes the state in the kernel, so on iWARP the kernel
 * is asked before EINVAL is returned. Only then is this a system call.
 */
int send_state_error(Qp *qp);
int recv_state_error(Qp *qp);

} // namespace tern

#endif
