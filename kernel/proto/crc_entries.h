/* SPDX-License-Identifier: GPL-2.0 */
/* CRC tables as initialisers: ENTRIES256(entries of 0x01, 0x02, 0x04 .. 0x80). */
#ifndef TERN_PROTO_CRC_ENTRIES_H
#define TERN_PROTO_CRC_ENTRIES_H

/* A CRC is linear: the entries of the eight single bits give all others. */
#define BIT_ENTRY(i, bit, entry)	((i) & (bit) ? (entry) : 0u)
#define ENTRY_OF(i, b0, b1, b2, b3, b4, b5, b6, b7)			\
	(BIT_ENTRY(i, 0x01, b0) ^ BIT_ENTRY(i, 0x02, b1) ^		\
	 BIT_ENTRY(i, 0x04, b2) ^ BIT_ENTRY(i, 0x08, b3) ^		\
	 BIT_ENTRY(i, 0x10, b4) ^ BIT_ENTRY(i, 0x20, b5) ^		\
	 BIT_ENTRY(i, 0x40, b6) ^ BIT_ENTRY(i, 0x80, b7))
#define ENTRY(i, ...)		ENTRY_OF(i, __VA_ARGS__)
#define ENTRIES4(i, ...)						\
	ENTRY(i, __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__),		\
	ENTRY((i) + 2, __VA_ARGS__), ENTRY((i) + 3, __VA_ARGS__)
#define ENTRIES16(i, ...)						\
	ENTRIES4(i, __VA_ARGS__), ENTRIES4((i) + 4, __VA_ARGS__),	\
	ENTRIES4((i) + 8, __VA_ARGS__), ENTRIES4((i) + 12, __VA_ARGS__)
#define ENTRIES64(i, ...)						\
	ENTRIES16(i, __VA_ARGS__), ENTRIES16((i) + 16, __VA_ARGS__),	\
	ENTRIES16((i) + 32, __VA_ARGS__), ENTRIES16((i) + 48, __VA_ARGS__)
#define ENTRIES256(...)							\
	ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__),		\
	ENTRIES64(128, __VA_ARGS__), ENTRIES64(192, __VA_ARGS__)

#endif
