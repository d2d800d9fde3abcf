/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CRCs of packets: CRC-32 (RoCE's ICRC) and CRC-32C (iWARP's MPA), each by the quickest way on
 * this machine: CPU instructions, tables, or folding and tables. This is measured once, because not
 * all CPUs have instructions for it, and emulated ones are slow.
 */
#ifndef TERN_CRC_H
#define TERN_CRC_H

#include <linux/static_call.h>
#include <linux/types.h>

#include "proto/crc_fold.h"
#include "proto/crc_slice.h"

u32 tern_crc32c_by_table(u32 crc, const u8 *p, size_t n);
DECLARE_STATIC_CALL(tern_crc32_short, crc32_slice);
DECLARE_STATIC_CALL(tern_crc32_quickest, crc32_slice);
DECLARE_STATIC_CALL(tern_crc32c_quickest, tern_crc32c_by_table);

/* The register after n more bytes; starts as ~0, and is inverted at the end. Any context. */
static inline u32 tern_crc32(u32 crc, const void *p, size_t n)
{
	/* Too short to be folded. */
	if (n < CRC_FOLD_LEAST)
		return static_call(tern_crc32_short)(crc, p, n);
	return static_call(tern_crc32_quickest)(crc, p, n);
}

static inline u32 tern_crc32c(u32 crc, const void *p, size_t n)
{
	return static_call(tern_crc32c_quickest)(crc, p, n);
}

/* Call at load, before anything that computes; exit comes after all that. Sleeps. -ENOMEM. */
int tern_crc_init(void);
void tern_crc_exit(void);

#endif
