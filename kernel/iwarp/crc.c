// SPDX-License-Identifier: GPL-2.0
/*
 * Which CRC-32C is the quicker one here.
 */
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "iwarp/crc.h"

#define SAMPLE_BYTES	4096	/* some of what an FPDU has */
#define ROUNDS		8

DEFINE_STATIC_KEY_FALSE(iw_crc_by_table);

static u32 by_table(u32 crc, const void *p, unsigned int n)
{
	return __crc32c_le(crc, p, n);
}

static u32 by_cpu(u32 crc, const void *p, unsigned int n)
{
	return crc32c(crc, p, n);
}

/* ns of the best of ROUNDS: what disturbs makes it longer only. */
static u64 best_ns(u32 (*fn)(u32 crc, const void *p, unsigned int n), const void *p)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 began, ns;

		preempt_disable();
		began = ktime_get_ns();
		fn(~0, p, SAMPLE_BYTES);
		ns = ktime_get_ns() - began;
		preempt_enable();
		best = min(best, ns);
	}
	return best;
}

int iw_crc_init(void)
{
	void *p = kzalloc(SAMPLE_BYTES, GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	if (best_ns(by_table, p) < best_ns(by_cpu, p))
		static_branch_enable(&iw_crc_by_table);
	kfree(p);
	return 0;
}
