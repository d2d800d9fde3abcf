/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of 2^IW_PAGE_ORDER for what goes out, used again when TCP is done with
 * them. Each CPU keeps IW_PAGES_KEPT at most, and none while there is no QP.
 */
#ifndef TERN_IWARP_PAGE_H
#define TERN_IWARP_PAGE_H

#include <linux/mm_types.h>

#define IW_PAGE_ORDER	3
#define IW_PAGE_BYTES	(PAGE_SIZE << IW_PAGE_ORDER)
#define IW_PAGES_KEPT	64

/* One with no other references, of any content. NULL: no memory. BHs off. */
struct page *iw_page_get(void);
/* The caller's reference, of a page that nobody will write to any more. BHs off. */
void iw_page_put(struct page *page);

/* At load, and before the end: there are no QPs. */
void iw_pages_init(void);
void iw_pages_exit(void);
/* There is a QP more, or less: the last one's pages are given back. */
void iw_pages_use(void);
void iw_pages_unuse(void);

#endif
