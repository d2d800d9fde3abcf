// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses the quickest ways to copy on this machine, or one that keeps the order of all bytes.
 */
#include <linux/errno.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "best_ns.h"
#include "mem/copy.h"

#define SAMPLE_BYTES	MEM_COPY_PAGE	/* or the payload of a few packets */

/* Do others see a CPU's stores in their order? */
#define STORES_IN_ORDER	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_UML_X86))

/* Only at load: programs were told. */
static bool want_in_order;
module_param_named(in_order, want_in_order, bool, 0444);
MODULE_PARM_DESC(in_order, "place all bytes of a message in order, also if that is slower");

void tern_copy_by_kernel(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

static void copy_by_words(void *dst, const void *src, size_t n)
{
	mem_copy_in_order(dst, src, n);
}

DEFINE_STATIC_CALL(tern_copy_quickest, tern_copy_by_kernel);
DEFINE_STATIC_CALL(tern_copy_close, tern_copy_by_kernel);

struct sample {
	typeof(&tern_copy_by_kernel) copy;
	u8 *dst;
	const u8 *src;
};

static void copy_sample(void *arg)
{
	const struct sample *s = arg;

	s->copy(s->dst, s->src, SAMPLE_BYTES);
}

/* Copies from the first page of three to the next, `ahead` bytes further into it. */
static bool words_are_quicker(u8 *pages, size_t ahead)
{
	struct sample kernel = { tern_copy_by_kernel, pages + MEM_COPY_PAGE + ahead, pages };
	struct sample words = { copy_by_words, kernel.dst, kernel.src };

	return tern_best_ns(copy_sample, &words) < tern_best_ns(copy_sample, &kernel);
}

bool tern_copy_keeps_order(void)
{
	return STORES_IN_ORDER && static_call_query(tern_copy_quickest) == copy_by_words &&
	       static_call_query(tern_copy_close) == copy_by_words;
}

int tern_copy_init(void)
{
	u8 *pages;

	if (!TERN_COPY_HAS_WORDS)
		return 0;
	if (want_in_order) {
		static_call_update(tern_copy_quickest, copy_by_words);
		static_call_update(tern_copy_close, copy_by_words);
		return 0;
	}
	pages = kzalloc(3 * MEM_COPY_PAGE, GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	if (words_are_quicker(pages, 0))
		static_call_update(tern_copy_quickest, copy_by_words);
	if (words_are_quicker(pages, MEM_COPY_CLOSE / 2))
		static_call_update(tern_copy_close, copy_by_words);
	kfree(pages);
	return 0;
}
