/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 (ICRC: IBTA 7.8) and CRC-32C (MPA: RFC 5044 4.4) of long stretches,
 * both reflected, where the CPU has no instruction for it: the message is
 * folded into its last few words, by shifts and XORs alone, and only these are
 * looked up in tables.
 */
#ifndef TERN_PROTO_CRC_FOLD_H
#define TERN_PROTO_CRC_FOLD_H

#include "proto/deps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The register after n bytes more; begins with ~0, and ends inverted. */
typedef u32 (*crc_fn)(u32 crc, const u8 *p, size_t n);

/* Fewer bytes than this are not folded: it would not be worth it. */
#define CRC_FOLD_LEAST	128

/* As table() does, sooner. table: of CRC-32; of CRC-32C. */
u32 crc32_fold(u32 crc, const u8 *p, size_t n, crc_fn table);
u32 crc32c_fold(u32 crc, const u8 *p, size_t n, crc_fn table);

#ifdef __cplusplus
}
#endif

#endif
