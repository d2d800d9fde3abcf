/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which private ABI of libibverbs this provider is built against. One number
 * selects everything: TERN_RDMA_CORE, the rdma-core release, which is the
 * third part of `pkg-config --modversion libibverbs`. A release that nobody
 * has looked at is refused here, not guessed.
 */
#ifndef TERN_PROVIDER_ABI_LEVEL_H
#define TERN_PROVIDER_ABI_LEVEL_H

#include <cstddef>

#ifndef TERN_RDMA_CORE
#error "TERN_RDMA_CORE is not set: build with provider/Makefile"
#endif
#if TERN_RDMA_CORE < 36
#error "rdma-core before 36 is not supported"
#endif
#if TERN_RDMA_CORE > 64
#error "this rdma-core is newer than 64, the last whose private ABI is described in provider/abi"
#endif

/* Suffix of the plugin's file name and of the registration function. */
#if TERN_RDMA_CORE >= 64
#define TERN_PABI 64
#elif TERN_RDMA_CORE >= 59
#define TERN_PABI 59
#elif TERN_RDMA_CORE >= 57
#define TERN_PABI 57
#else
#define TERN_PABI 34
#endif

/* Newest public version node, IBVERBS_1.<level>. */
#if TERN_RDMA_CORE >= 64
#define TERN_PUBLIC_LEVEL 17
#elif TERN_RDMA_CORE >= 62
#define TERN_PUBLIC_LEVEL 16
#elif TERN_RDMA_CORE >= 59
#define TERN_PUBLIC_LEVEL 15
#else
#define TERN_PUBLIC_LEVEL 14
#endif

namespace tern::abi {

/* Sizes on LP64, asserted in verbs_private.h. */
inline constexpr size_t kOpsMembers = TERN_RDMA_CORE >= 64 ? 83 :
				      TERN_RDMA_CORE >= 62 ? 81 :
				      TERN_RDMA_CORE >= 59 ? 79 :
							     76;
inline constexpr size_t kContextOffset = TERN_RDMA_CORE >= 64 ? 368 :
					 TERN_RDMA_CORE >= 62 ? 352 :
					 TERN_RDMA_CORE >= 59 ? 344 :
								320;
inline constexpr size_t kQpCompMaskOffset = TERN_RDMA_CORE >= 45 ? 360 :
					    TERN_RDMA_CORE == 44 ? 352 :
								   344;

} // namespace tern::abi

#endif
