// SPDX-License-Identifier: GPL-2.0
/* Memory that kernel and program share; see area.h. */
#include <linux/err.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "area.h"
#include "charged.h"

static void free_pages_of(struct page **pages, u32 n)
{
	while (n)
		__free_page(pages[--n]);
	kvfree(pages);
}

/* As vmalloc_user(), but charged. */
static bool area_alloc(struct tern_area *area)
{
	struct page **pages = tern_table_alloc(area->npages, sizeof(*pages));
	u32 n;

	if (!pages)
		return false;
	for (n = 0; n < area->npages; n++) {
		if (fatal_signal_pending(current))
			goto free;
		pages[n] = alloc_page(TERN_GFP_CHARGED | __GFP_ZERO);
		if (!pages[n])
			goto free;
		cond_resched();
	}
	area->addr = vmap(pages, area->npages, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	if (!area->addr)
		goto free;
	area->pages = pages;
	return true;
free:
	free_pages_of(pages, n);
	return false;
}

struct tern_area *tern_area_create(u64 bytes)
{
	struct tern_area *area;

	if (!bytes || bytes > U32_MAX - PAGE_SIZE)
		return ERR_PTR(-EINVAL);
	area = kzalloc(sizeof(*area), TERN_GFP_CHARGED);
	if (!area)
		return ERR_PTR(-ENOMEM);
	kref_init(&area->ref);
	area->npages = PAGE_ALIGN(bytes) >> PAGE_SHIFT;
	if (!area_alloc(area)) {
		kfree(area);
		return ERR_PTR(-ENOMEM);
	}
	return area;
}

static void area_release(struct kref *ref)
{
	struct tern_area *area = container_of(ref, struct tern_area, ref);

	vunmap(area->addr);
	free_pages_of(area->pages, area->npages);
	kfree(area);
}

void tern_area_get(struct tern_area *area)
{
	kref_get(&area->ref);
}

void tern_area_put(struct tern_area *area)
{
	if (area)
		kref_put(&area->ref, area_release);
}

int tern_area_mmap(const struct tern_area *area, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, area->addr, 0);
}
