/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CRCs of packets: CRC-32 (RoCE's ICRC) and CRC-32C (iWARP's MPA), each by
 * whatever is quickest here: what the CPU offers, tables, or folding and
 * tables. That is measured once, for not all CPUs have instructions for it, and
 * emulated ones have slow ones.
 */
#ifndef TERN_CRC_H
#define TERN_CRC_H

#include <linux/static_call.h>
#include <linux/types.h>

#include "proto/crc_fold.h"
#include "proto/crc_slice.h"

u32 tern_crc32_by_table(u32 crc, const u8 *p, size_t n);
u32 tern_crc32c_by_table(u32 crc, const u8 *p, size_t n);
DECLARE_STATIC_CALL(tern_crc32_short, crc32_slice);
DECLARE_STATIC_CALL(tern_crc32_quickest, tern_crc32_by_table);
DECLARE_STATIC_CALL(tern_crc32c_quickest, tern_crc32c_by_table);

/* The register after n bytes more; begins with ~0, and ends inverted. Any context. */
static inline u32 tern_crc32(u32 crc, const void *p, size_t n)
{
	/* Whichever is the quickest leaves these to the tables. */
	if (n < CRC_FOLD_LEAST)
		return static_call(tern_crc32_short)(crc, p, n);
	return static_call(tern_crc32_quickest)(crc, p, n);
}

static inline u32 tern_crc32c(u32 crc, const void *p, size_t n)
{
	return static_call(tern_crc32c_quickest)(crc, p, n);
}

/* At load, before and after everything that computes. Sleeps. -ENOMEM. */
int tern_crc_init(void);
void tern_crc_exit(void);

#endif
