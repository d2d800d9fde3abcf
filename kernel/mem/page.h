/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of 2^TERN_PAGE_ORDER for outgoing data. They are used again when the
 * network stack has released them. Each CPU keeps as many as were in flight at
 * a time, at most TERN_PAGES_KEPT, and none while there is no QP. When memory
 * is short, the kernel takes those not in use, except a few. If the kernel has
 * no such large pages, smaller ones are used.
 */
#ifndef TERN_MEM_PAGE_H
#define TERN_MEM_PAGE_H

#include <linux/mm_types.h>

#define TERN_PAGE_ORDER	3
#define TERN_PAGE_BYTES	(PAGE_SIZE << TERN_PAGE_ORDER)
#define TERN_PAGES_KEPT	256		/* a power of two: 8 MiB, two full TCP windows */

/*
 * A page without other references, with any content: of TERN_PAGE_BYTES, or of PAGE_SIZE if the
 * kernel has no large one (see page_size()). NULL: no memory. BHs off.
 */
struct page *tern_page_get(void);
/* Gives back the caller's reference to a page that nobody writes to any more. BHs off. */
void tern_page_put(struct page *page);

/*
 * A piece of a page, with any content, for one packet. bytes is a multiple of the cache line's and
 * at most a page's. put_page() gives its reference to the page back. NULL: no memory. BHs off.
 */
void *tern_page_piece(u32 bytes);

/*
 * More room for the owner of the bytes before `behind`, of any number of bytes. It starts at
 * `behind` if nobody took a piece since and the page has room. Otherwise it is a piece of its own,
 * with a reference to its page. NULL: no memory. BHs off.
 */
void *tern_page_more(const void *behind, u32 bytes);

/* At load, and at unload when there are no QPs. May sleep. -ENOMEM. */
int tern_pages_init(void);
void tern_pages_exit(void);
/* One QP more, or one less. The last QP's end gives the pages back. */
void tern_pages_use(void);
void tern_pages_unuse(void);

#endif
