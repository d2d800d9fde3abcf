/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies payload by the quickest way of this machine: memcpy(), which x86 does
 * by string moves, or plain loads and stores. It is measured once at load:
 * string moves take several times as long on emulated CPUs, and on some others.
 * Programs poll the last byte of a message, so that is stored last.
 */
#ifndef TERN_MEM_COPY_H
#define TERN_MEM_COPY_H

#include <linux/kconfig.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "mem/words.h"

/* Words may have any alignment. */
#define TERN_COPY_HAS_WORDS	IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS)

/* Up to this many bytes, starting a string move takes longer than the whole copy by words. */
#define TERN_COPY_FEW	128

void tern_copy_by_kernel(void *dst, const void *src, size_t n);
DECLARE_STATIC_CALL(tern_copy_quickest, tern_copy_by_kernel);

/* For destinations close to the source: see mem_copy_is_close(). */
DECLARE_STATIC_CALL(tern_copy_close, tern_copy_by_kernel);

/* As memcpy(). Any context. */
static inline void tern_copy(void *dst, const void *src, size_t n)
{
	if (!TERN_COPY_HAS_WORDS)
		memcpy(dst, src, n);
	else if (n <= TERN_COPY_FEW)
		mem_copy_words(dst, src, n);
	else if (unlikely(mem_copy_is_close(dst, src)))
		static_call(tern_copy_close)(dst, src, n);
	else
		static_call(tern_copy_quickest)(dst, src, n);
}

/*
 * As tern_copy(), n > 0, and the end of it is stored last: who sees the last byte of dst, and then
 * reads the others, finds all of them there. A string move gives no order to its own stores.
 */
static inline void tern_copy_end_last(void *dst, const void *src, size_t n)
{
	size_t last = mem_last_store(dst, n), rest = n - last;

	if (TERN_COPY_HAS_WORDS && rest <= TERN_COPY_FEW)
		mem_copy_in_order(dst, src, rest);
	else
		tern_copy(dst, src, rest);
	/* Also behind earlier pieces of the message. Pairs with the program's order of loads. */
	smp_wmb();
	mem_store_last(dst + rest, src + rest, last);
}

/* Does tern_copy_end_last() let others see every byte only after those before it? */
bool tern_copy_keeps_order(void);

/* At load, before all users. Sleeps. -ENOMEM. */
int tern_copy_init(void);

#endif
