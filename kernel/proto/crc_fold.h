/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 (ICRC: IBTA 7.8) and CRC-32C (MPA: RFC 5044 4.4) of long buffers, both reflected, on CPUs
 * without an instruction for it. Shifts and XORs fold the message into its last few words, and only
 * those are looked up in tables.
 */
#ifndef TERN_PROTO_CRC_FOLD_H
#define TERN_PROTO_CRC_FOLD_H

#include "proto/deps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The register after n more bytes; starts as ~0, and is inverted at the end. */
typedef u32 (*crc_fn)(u32 crc, const u8 *p, size_t n);

/* Shorter buffers are not folded: it would not pay. */
#define CRC_FOLD_LEAST	128

/* The same result as table(), faster. table: a function for CRC-32; for CRC-32C. */
u32 crc32_fold(u32 crc, const u8 *p, size_t n, crc_fn table);
u32 crc32c_fold(u32 crc, const u8 *p, size_t n, crc_fn table);

#ifdef __cplusplus
}
#endif

#endif
