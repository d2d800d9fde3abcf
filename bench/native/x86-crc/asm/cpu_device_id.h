/* SPDX-License-Identifier: GPL-2.0 */
/* Does the CPU have this feature? UML knows from the host's /proc/cpuinfo. */
#ifndef BENCH_ASM_CPU_DEVICE_ID_H
#define BENCH_ASM_CPU_DEVICE_ID_H

#include <linux/mod_devicetable.h>
#include <asm/cpufeature.h>

#define X86_MATCH_FEATURE(f, d)	{ .feature = (f), .driver_data = (unsigned long)(d) }

static inline const struct x86_cpu_id *x86_match_cpu(const struct x86_cpu_id *id)
{
	return boot_cpu_has(id->feature) ? id : NULL;
}

#endif
