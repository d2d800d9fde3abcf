/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one header through which kernel/proto/ uses its environment: fixed width types, byte order,
 * unaligned access, READ_ONCE(), memcpy. The same .c files are built into tern.ko and, without
 * __KERNEL__, into the unit tests, the fuzzers and the simulator. No other file here includes
 * anything from outside.
 */
#ifndef TERN_PROTO_DEPS_H
#define TERN_PROTO_DEPS_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include <asm/unaligned.h>

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

typedef __u8  u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#ifdef __cplusplus
#define TERN_STATIC_ASSERT static_assert
#else
#define TERN_STATIC_ASSERT _Static_assert
#endif
#ifndef static_assert
#ifndef __cplusplus
#define static_assert(e, ...) _Static_assert(e, "" #e)
#endif
#endif

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u16)((b[0] << 8) | b[1]);
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *b = (const u8 *)p;

	return ((u32)b[0] << 24) | ((u32)b[1] << 16) | ((u32)b[2] << 8) | b[3];
}

static inline u64 get_unaligned_be64(const void *p)
{
	const u8 *b = (const u8 *)p;

	return ((u64)get_unaligned_be32(b) << 32) | get_unaligned_be32(b + 4);
}

static inline u32 get_unaligned_le32(const void *p)
{
	const u8 *b = (const u8 *)p;

	return ((u32)b[3] << 24) | ((u32)b[2] << 16) | ((u32)b[1] << 8) | b[0];
}

static inline u64 get_unaligned_le64(const void *p)
{
	const u8 *b = (const u8 *)p;

	return ((u64)get_unaligned_le32(b + 4) << 32) | get_unaligned_le32(b);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)(v >> 8);
	b[1] = (u8)v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)(v >> 24);
	b[1] = (u8)(v >> 16);
	b[2] = (u8)(v >> 8);
	b[3] = (u8)v;
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	u8 *b = (u8 *)p;

	put_unaligned_be32((u32)(v >> 32), b);
	put_unaligned_be32((u32)v, b + 4);
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
	b[2] = (u8)(v >> 16);
	b[3] = (u8)(v >> 24);
}

static inline void put_unaligned_le64(u64 v, void *p)
{
	u8 *b = (u8 *)p;

	put_unaligned_le32((u32)v, b);
	put_unaligned_le32((u32)(v >> 32), b + 4);
}

/* There is only one thread. */
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#ifndef fallthrough
#if defined(__cplusplus)
#define fallthrough [[fallthrough]]
#else
#define fallthrough __attribute__((__fallthrough__))
#endif
#endif

#endif /* __KERNEL__ */

#endif
