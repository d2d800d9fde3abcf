/* SPDX-License-Identifier: GPL-2.0 */
// XRC's objects. What tries gives nullptr and errno; what makes and opens requires.
#ifndef TERN_VM_XRC_H
#define TERN_VM_XRC_H

#include "objects.h"

namespace vt {

// fd -1: a domain of one's own.
Xrcd try_open_domain(ibv_context *context, int fd, int oflags);
Xrcd open_domain(ibv_context *context, int fd = -1);

Srq try_make_xrc_srq(ibv_pd *pd, ibv_xrcd *domain, ibv_cq *cq, uint32_t wrs = 512);
Srq make_xrc_srq(ibv_pd *pd, ibv_xrcd *domain, ibv_cq *cq, uint32_t wrs = 512);
uint32_t number_of(ibv_srq *srq);

QpOwner try_make_target(ibv_context *context, ibv_xrcd *domain);
QpOwner make_target(ibv_context *context, ibv_xrcd *domain);
QpOwner try_open_target(ibv_context *context, ibv_xrcd *domain, uint32_t number);

} // namespace vt

#endif
