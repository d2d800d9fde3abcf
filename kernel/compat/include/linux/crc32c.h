/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before 6.15 the CRC-32C by tables and the one by the CPU's instructions are
 * two functions, in two modules. From 6.15 on there is only crc32c(), which
 * takes the best.
 */
#ifndef TERN_COMPAT_LINUX_CRC32C_H
#define TERN_COMPAT_LINUX_CRC32C_H

#include_next <linux/crc32c.h>

#include <linux/crc32.h>

static inline u32 tern_crc32c_of_library(u32 crc, const u8 *p, size_t n)
{
/* A name for crc32c() that was removed together with the second function. */
#ifdef crc32c_le
	return __crc32c_le(crc, p, n);
#else
	return crc32c(crc, p, n);
#endif
}

#endif
