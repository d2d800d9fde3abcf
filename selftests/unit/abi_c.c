// SPDX-License-Identifier: GPL-2.0
/*
 * The C half of abi_test.cc: what the C compiler makes of uapi/, as
 * assertions (this file alone, compiled for 32 bit, is make lint's proof that
 * the layout does not depend on it) and as a table for the C++ half to compare.
 */
#include "abi_c.h"

#include "tern-abi.h"
#include "tern-dump.h"

#define TYPE(t, size, align)						\
	_Static_assert(sizeof(struct t) == (size), #t);			\
	_Static_assert(_Alignof(struct t) == (align), #t);
#define FIELD(t, member, offset, size)					\
	_Static_assert(offsetof(struct t, member) == (offset), #t "." #member); \
	_Static_assert(sizeof(((struct t *)0)->member) == (size), #t "." #member);
#include "abi_layout.inc"
#undef TYPE
#undef FIELD

const struct abi_row abi_c_rows[] = {
#define TYPE(t, size, align) { #t, "", _Alignof(struct t), sizeof(struct t) },
#define FIELD(t, member, offset, size)					\
	{ #t, #member, offsetof(struct t, member), sizeof(((struct t *)0)->member) },
#include "abi_layout.inc"
};

const size_t abi_c_row_count = sizeof(abi_c_rows) / sizeof(abi_c_rows[0]);
