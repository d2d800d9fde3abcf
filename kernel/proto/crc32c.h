/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32C (RFC 5044 4.4, reflected) of long stretches where the CPU has no
 * instruction for it: most of the message is folded into what follows it, by
 * shifts and XORs alone, and only the rest looked up in tables.
 */
#ifndef TERN_PROTO_CRC32C_H
#define TERN_PROTO_CRC32C_H

#include "proto/deps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The register after n bytes more; begins with ~0, and ends inverted. */
typedef u32 (*crc32c_fn)(u32 crc, const u8 *p, size_t n);

/* Fewer bytes than this are not worth folding. */
#define CRC32C_FOLD_LEAST	1200
/* What a folded word reaches, and how many are folded at a time. */
#define CRC32C_FOLD_REACH	83
#define CRC32C_FOLD_CHUNK	512
#define CRC32C_FOLD_SCRATCH	(3 * CRC32C_FOLD_REACH + CRC32C_FOLD_CHUNK)

/* As table() does, sooner. scratch: CRC32C_FOLD_SCRATCH words, of no meaning afterwards. */
u32 crc32c_fold(u32 crc, const u8 *p, size_t n, u64 *scratch, crc32c_fn table);

#ifdef __cplusplus
}
#endif

#endif
