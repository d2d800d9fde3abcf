/* SPDX-License-Identifier: GPL-2.0 */
/*
 * May the vector registers be used here? In UML anywhere: an interrupt is a
 * signal, around which the host keeps all registers, and nothing is preempted.
 * (UML's own answer is "not in softirqs", where this driver's users compute.)
 */
#ifndef BENCH_ASM_SIMD_H
#define BENCH_ASM_SIMD_H

#include <linux/types.h>
#include <asm/fpu/api.h>

static inline bool may_use_simd(void)
{
	return true;
}

#endif
