/* SPDX-License-Identifier: GPL-2.0 */
/*
 * May the vector registers be used here? In UML everywhere: an interrupt is a
 * signal, around which the host saves all registers, and nothing is preempted.
 * (UML's own answer is "not in softirqs", but this driver's users compute there.)
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
