/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The releases of rdma-core whose private ABI tern knows, and what differs
 * between them. library.h finds out at load which one a program has, so one
 * build serves all of them, whatever libibverbs-dev it was made with. A release
 * that is not described here is refused, not guessed.
 */
#ifndef TERN_PROVIDER_ABI_RELEASE_H
#define TERN_PROVIDER_ABI_RELEASE_H

#ifndef __LP64__
#error "tern's provider is for 64-bit programs: it knows libibverbs' layout of 64-bit processors only"
#endif

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace tern::abi {

struct Release {
	unsigned int since; /* rdma-core, up to the next entry's */
	/* Part of the plugin's file name, the registration function and the private node. */
	unsigned int private_abi;
	unsigned int public_level; /* newest public version node: IBVERBS_1.<level> */
	size_t num_ops;		   /* in the library's operation table */
	size_t context_offset;	   /* of ibv_context in the library's verbs_context */
};

/* Debian 12 has 44, 13 has 56, testing 65. Those between are described but not tested. */
inline constexpr Release kReleases[] = {
	{36, 34, 14, 76, 320}, {57, 57, 14, 76, 320}, {59, 59, 15, 79, 344},
	{62, 59, 16, 81, 352}, {64, 64, 17, 83, 368}, {65, 65, 18, 93, 368},
};
inline constexpr unsigned int kFirstRelease = 36;
inline constexpr unsigned int kLastRelease = 65;

/* The largest of each: sizes that fit every library. */
inline constexpr size_t kMaxOps = 93;
inline constexpr size_t kMaxContextOffset = 368;

/*
 * Room behind both, for a library that looks like one of these and has more: it finds zeros there
 * and overwrites nothing else, until the difference is seen.
 */
inline constexpr size_t kRoomForMore = 32;

/* Each context, CQ, QP and SRQ has a mutex, which is longer on some processors (arm64). */
inline constexpr size_t kMutexMore = sizeof(pthread_mutex_t) - 40;

/*
 * Where verbs_qp's comp_mask may be: before 44, in 44, and since. It differs between releases of
 * one private ABI and one public level, because ibv_qp_ex grew.
 */
inline constexpr size_t kQpCompMaskOffsets[] = {344 + kMutexMore, 352 + kMutexMore,
						360 + kMutexMore};

/*
 * The members by which it grew, in 44 and in 45, and their bits of ibv_qp_init_attr_ex's
 * send_ops_flags. The public header that tern is built with may be older.
 */
inline constexpr size_t kWrAtomicWriteAt = 344 + kMutexMore;
inline constexpr size_t kWrFlushAt = 352 + kMutexMore;
inline constexpr uint64_t kWithFlush = 1u << 11;
inline constexpr uint64_t kWithAtomicWrite = 1u << 12;

} // namespace tern::abi

#endif
