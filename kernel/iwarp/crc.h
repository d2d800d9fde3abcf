/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CRC-32C of FPDUs. The kernel has it by table and by whatever the CPU
 * offers; which one is quicker is measured once, for on emulated CPUs the
 * table may well be.
 */
#ifndef TERN_IWARP_CRC_H
#define TERN_IWARP_CRC_H

#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(iw_crc_by_table);

/* The register after n bytes more; begins with, and ends inverted. Any context. */
static inline u32 iw_crc32c(u32 crc, const void *p, size_t n)
{
	return static_branch_unlikely(&iw_crc_by_table) ? __crc32c_le(crc, p, n) :
							  crc32c(crc, p, n);
}

/* Once, at load. May sleep. -ENOMEM. */
int iw_crc_init(void);

#endif
