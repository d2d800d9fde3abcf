// SPDX-License-Identifier: GPL-2.0
/*
 * Which CRC-32C is the quickest one here.
 */
#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "iwarp/crc.h"
#include "proto/crc32c.h"

#define SAMPLE_BYTES	4096	/* some of what an FPDU has */
#define ROUNDS		8

u32 iw_crc_by_cpu(u32 crc, const u8 *p, size_t n)
{
	return crc32c(crc, p, n);
}

static u32 by_table(u32 crc, const u8 *p, size_t n)
{
	return __crc32c_le(crc, p, n);
}

static u32 by_folding(u32 crc, const u8 *p, size_t n)
{
	return crc32c_fold(crc, p, n, by_table);
}

DEFINE_STATIC_CALL(iw_crc, iw_crc_by_cpu);

/* ns of the best of ROUNDS: what disturbs makes it longer only. */
static u64 best_ns(crc32c_fn fn, const void *p)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 began, ns;
		u32 crc;

		preempt_disable();
		began = ktime_get_ns();
		crc = fn(~0, p, SAMPLE_BYTES);
		/* A result that nobody wants need not be computed. */
		barrier_data(&crc);
		ns = ktime_get_ns() - began;
		preempt_enable();
		best = min(best, ns);
	}
	return best;
}

int iw_crc_init(void)
{
	void *p = kzalloc(SAMPLE_BYTES, GFP_KERNEL);
	u64 cpu, table, folding;

	if (!p)
		return -ENOMEM;
	cpu = best_ns(iw_crc_by_cpu, p);
	table = best_ns(by_table, p);
	folding = best_ns(by_folding, p);
	kfree(p);
	if (folding < cpu && folding < table)
		static_call_update(iw_crc, by_folding);
	else if (table < cpu)
		static_call_update(iw_crc, by_table);
	return 0;
}
