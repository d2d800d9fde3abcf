/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32C (RFC 5044 4.4, reflected) of long stretches where the CPU has no
 * instruction for it: the message is folded into its last few words, by shifts
 * and XORs alone, and only these are looked up in tables.
 */
#ifndef TERN_PROTO_CRC32C_H
#define TERN_PROTO_CRC32C_H

#include "proto/deps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The register after n bytes more; begins with ~0, and ends inverted. */
typedef u32 (*crc32c_fn)(u32 crc, const u8 *p, size_t n);

/* Fewer bytes than this are not folded: it would not be worth it. */
#define CRC32C_FOLD_LEAST	128

/* As table() does, sooner. */
u32 crc32c_fold(u32 crc, const u8 *p, size_t n, crc32c_fn table);

#ifdef __cplusplus
}
#endif

#endif
