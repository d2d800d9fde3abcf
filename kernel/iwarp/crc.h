/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CRC-32C of FPDUs: by whatever the CPU offers, by the kernel's tables, or
 * by folding and tables. Which is the quickest is measured once, for not all
 * CPUs have an instruction for it, and emulated ones have a slow one.
 */
#ifndef TERN_IWARP_CRC_H
#define TERN_IWARP_CRC_H

#include <linux/static_call.h>
#include <linux/types.h>

u32 iw_crc_by_cpu(u32 crc, const u8 *p, size_t n);
DECLARE_STATIC_CALL(iw_crc, iw_crc_by_cpu);

/* The register after n bytes more; begins with ~0, and ends inverted. Any context. */
static inline u32 iw_crc32c(u32 crc, const void *p, size_t n)
{
	return static_call(iw_crc)(crc, p, n);
}

/* Once, at load. May sleep. -ENOMEM. */
int iw_crc_init(void);

#endif
