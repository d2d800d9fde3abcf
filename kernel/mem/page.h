/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of 2^TERN_PAGE_ORDER for what goes out, used again when the network stack
 * is done with them. Each CPU keeps TERN_PAGES_KEPT at most, as many as were under
 * way at a time; none while there is no QP, and those that are not in use until the
 * kernel runs short of memory, but for a few. Where the kernel has no such pages there
 * are smaller ones.
 */
#ifndef TERN_MEM_PAGE_H
#define TERN_MEM_PAGE_H

#include <linux/mm_types.h>

#define TERN_PAGE_ORDER	3
#define TERN_PAGE_BYTES	(PAGE_SIZE << TERN_PAGE_ORDER)
#define TERN_PAGES_KEPT	256		/* a power of two: 8 MiB, two full TCP windows */

/*
 * One with no other references, of any content: of TERN_PAGE_BYTES, or where the kernel has none
 * of these of PAGE_SIZE (page_size()). NULL: no memory. BHs off.
 */
struct page *tern_page_get(void);
/* The caller's reference, of a page that nobody will write to any more. BHs off. */
void tern_page_put(struct page *page);

/*
 * A piece of a page, of any content, for one packet: bytes a multiple of the
 * cache line's and at most a page's. With a reference to the page that put_page()
 * gives back. NULL: no memory. BHs off.
 */
void *tern_page_piece(u32 bytes);

/*
 * More for who has the bytes before `behind`: bytes of any number, at `behind` if
 * nobody has had a piece since and the page has them; else as a piece of its own,
 * with a reference to its page. NULL: no memory. BHs off.
 */
void *tern_page_more(const void *behind, u32 bytes);

/* At load, and before the end: there are no QPs. May sleep. -ENOMEM. */
int tern_pages_init(void);
void tern_pages_exit(void);
/* There is a QP more, or less: the last one's pages are given back. */
void tern_pages_use(void);
void tern_pages_unuse(void);

#endif
