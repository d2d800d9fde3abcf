/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The ibv_wr_* interface of a QP. */
#ifndef TERN_PROVIDER_WR_H
#define TERN_PROVIDER_WR_H

#include <cstdint>

#include "objects.h"

namespace tern {

/*
 * Set the functions of the ibv_wr_* interface. ops are IBV_QP_EX_WITH_* bits
 * among send_ops_of() of the QP's kind.
 */
void wr_init(Qp *qp, uint64_t ops);

} // namespace tern

#endif
