// SPDX-License-Identifier: GPL-2.0
/*
 * Which way to copy is the quickest one here.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "best_ns.h"
#include "mem/copy.h"

#define SAMPLE_BYTES	4096	/* of a page, or some packets */

void tern_copy_by_kernel(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

static void copy_by_words(void *dst, const void *src, size_t n)
{
	mem_copy_words(dst, src, n);
}

DEFINE_STATIC_CALL(tern_copy_quickest, tern_copy_by_kernel);

struct sample {
	typeof(&tern_copy_by_kernel) copy;
	u8 *bytes;
};

static void copy_sample(void *arg)
{
	const struct sample *s = arg;

	s->copy(s->bytes, s->bytes + SAMPLE_BYTES, SAMPLE_BYTES);
}

int tern_copy_init(void)
{
	struct sample kernel = { .copy = tern_copy_by_kernel };
	struct sample words = { .copy = copy_by_words };

	if (!TERN_COPY_HAS_WORDS)
		return 0;
	kernel.bytes = kzalloc(2 * SAMPLE_BYTES, GFP_KERNEL);
	if (!kernel.bytes)
		return -ENOMEM;
	words.bytes = kernel.bytes;
	if (tern_best_ns(copy_sample, &words) < tern_best_ns(copy_sample, &kernel))
		static_call_update(tern_copy_quickest, copy_by_words);
	kfree(kernel.bytes);
	return 0;
}
