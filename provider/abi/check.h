/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Is the libibverbs in this process the one whose private ABI this provider
 * was built against? Asked before anything is registered.
 */
#ifndef TERN_PROVIDER_ABI_CHECK_H
#define TERN_PROVIDER_ABI_CHECK_H

struct verbs_context;
struct verbs_context_ops;

namespace tern::abi {

/*
 * NULL if the loaded library fits, else a static string that says why not.
 * Call from the plugin's constructor.
 */
const char *library_mismatch();

/* Did verbs_set_ops() put ops where the public header says? Same return. */
const char *ops_mismatch(const verbs_context &vctx, const verbs_context_ops &ops);

} // namespace tern::abi

#endif
