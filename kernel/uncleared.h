/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many kernels clear every local variable (CONFIG_INIT_STACK_ALL_ZERO). For
 * large variables that are filled member by member before they are read, and
 * that are used for each packet, this says that clearing is not needed:
 *
 *	struct pkt k TERN_UNCLEARED;
 */
#ifndef TERN_UNCLEARED_H
#define TERN_UNCLEARED_H

#include <linux/compiler_attributes.h>

#if __has_attribute(__uninitialized__)
#define TERN_UNCLEARED	__attribute__((__uninitialized__))
#else
#define TERN_UNCLEARED
#endif

#endif
