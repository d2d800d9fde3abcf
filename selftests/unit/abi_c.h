/* SPDX-License-Identifier: GPL-2.0 */
/* One row per struct (member "", its alignment and size) or member of tern-abi.h, as C sees it. */
#ifndef TERN_UNIT_ABI_C_H
#define TERN_UNIT_ABI_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct abi_row {
	const char *type;
	const char *member;
	size_t offset_or_align;
	size_t size;
};

extern const struct abi_row abi_c_rows[];
extern const size_t abi_c_row_count;

#ifdef __cplusplus
}
#endif

#endif
