/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 (reflected, 0xedb88320; IBTA 7.8) of short buffers, such as most headers and small
 * payloads: tables of 16 KiB, in half the time that tables of 8 KiB take.
 */
#ifndef TERN_PROTO_CRC_SLICE_H
#define TERN_PROTO_CRC_SLICE_H

#include "deps.h"

#define CRC32_SLICES	16

#ifdef __cplusplus
extern "C" {
#endif

/* The register after n more bytes; starts as ~0, and is inverted at the end. */
u32 crc32_slice(u32 crc, const u8 *p, size_t n);
/* The register that a byte leaves when followed by that many zeros. */
extern const u32 crc32_slices[CRC32_SLICES][256];

/*
 * The register that four bytes leave, given in le, lowest first, when followed by `followed_by`
 * zeros, at most CRC32_SLICES - 4. It was 0 before.
 */
static __always_inline u32 crc32_of_word(u32 le, int followed_by)
{
	return crc32_slices[followed_by + 3][le & 0xff] ^
	       crc32_slices[followed_by + 2][le >> 8 & 0xff] ^
	       crc32_slices[followed_by + 1][le >> 16 & 0xff] ^
	       crc32_slices[followed_by][le >> 24];
}

#ifdef __cplusplus
}
#endif

#endif
