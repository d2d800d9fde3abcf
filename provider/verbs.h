/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs of tern as libibverbs calls them: every TERN_OP of abi/ops.inc, each
 * in the file of its object. Semantics are those of the public manual pages: on
 * failure creators return NULL and set errno. The others return 0 or a positive
 * errno, unless the verb says otherwise. Any thread may call them.
 */
#ifndef TERN_PROVIDER_VERBS_H
#define TERN_PROVIDER_VERBS_H

#include "abi/verbs_private.h"

namespace tern {

#define TERN_OP(since, ret, name, args) ret name args;
#define TERN_OP_UNUSED(since, name)
#include "abi/ops.inc"
#undef TERN_OP
#undef TERN_OP_UNUSED

/* device.cc */
extern const verbs_device_ops device_ops;

/* context.cc */
verbs_context *alloc_context(ibv_device *device, int cmd_fd, void *private_data);
verbs_context *import_context(ibv_device *device, int cmd_fd);

} // namespace tern

#endif
