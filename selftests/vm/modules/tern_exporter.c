// SPDX-License-Identifier: GPL-2.0
/*
 * Test module: exports dma-bufs of single pages, as a driver of a device with
 * memory would. It counts what importers do, refuses on request, and takes
 * memory back. See exporter.h.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "exporter.h"

TERN_IMPORT_DMA_BUF();

#define MOST_BYTES	(64ul << 20)

struct pages {
	u32 n;
	struct page *page[];
};

struct buffer {
	u32 flags;
	struct pages *pages;	/* under the dma-buf's reservation lock */
	struct pages *former;	/* taken back */
	atomic_t attached, pinned, mapped, accessed;
};

/* ---- pages ---- */

static void pages_free(struct pages *pages)
{
	if (!pages)
		return;
	while (pages->n)
		__free_page(pages->page[--pages->n]);
	kvfree(pages);
}

static struct pages *pages_alloc(u32 n)
{
	struct pages *pages = kvzalloc(struct_size(pages, page, n), GFP_KERNEL);

	while (pages && pages->n < n) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		if (!page) {
			pages_free(pages);
			return NULL;
		}
		pages->page[pages->n++] = page;
	}
	return pages;
}

/* ---- what importers call ---- */

static int exp_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct buffer *buffer = dmabuf->priv;

	if (buffer->flags & EXPORTER_NO_ATTACH)
		return -EBUSY;
	atomic_inc(&buffer->attached);
	return 0;
}

static void exp_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct buffer *buffer = dmabuf->priv;

	atomic_dec(&buffer->attached);
}

static int exp_pin(struct dma_buf_attachment *attach)
{
	struct buffer *buffer = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (buffer->flags & EXPORTER_NO_PIN)
		return -EBUSY;
	atomic_inc(&buffer->pinned);
	if (buffer->flags & EXPORTER_TAKES_BACK)
		dma_buf_invalidate_mappings(attach->dmabuf);
	return 0;
}

static void exp_unpin(struct dma_buf_attachment *attach)
{
	struct buffer *buffer = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	atomic_dec(&buffer->pinned);
}

/* No importer of the tests does DMA. */
static struct sg_table *exp_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void exp_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		      enum dma_data_direction dir)
{
}

static int exp_begin(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct buffer *buffer = dmabuf->priv;

	if (buffer->flags & EXPORTER_NO_ACCESS)
		return -EBUSY;
	atomic_inc(&buffer->accessed);
	return 0;
}

static int exp_end(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct buffer *buffer = dmabuf->priv;

	atomic_dec(&buffer->accessed);
	return 0;
}

static int exp_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct buffer *buffer = dmabuf->priv;
	struct pages *pages;
	int err;

	dma_resv_lock(dmabuf->resv, NULL);
	pages = buffer->pages;
	err = vm_map_pages(vma, pages->page, pages->n);
	dma_resv_unlock(dmabuf->resv);
	return err;
}

/* Older kernels do not hold the reservation lock here. Pages taken back stay until the release. */
static int exp_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *buffer = dmabuf->priv;
	struct pages *pages = READ_ONCE(buffer->pages);
	void *kva = vmap(pages->page, pages->n, VM_MAP, PAGE_KERNEL);

	if (!kva)
		return -ENOMEM;
	if (buffer->flags & EXPORTER_IO_MEMORY)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)kva);
	else
		iosys_map_set_vaddr(map, kva);
	atomic_inc(&buffer->mapped);
	return 0;
}

static void exp_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *buffer = dmabuf->priv;

	vunmap(map->vaddr);
	atomic_dec(&buffer->mapped);
}

static void exp_release(struct dma_buf *dmabuf)
{
	struct buffer *buffer = dmabuf->priv;

	WARN_ON(atomic_read(&buffer->attached) || atomic_read(&buffer->pinned) ||
		atomic_read(&buffer->mapped) || atomic_read(&buffer->accessed));
	pages_free(buffer->pages);
	pages_free(buffer->former);
	kfree(buffer);
}

#define COMMON_OPS			\
	.attach = exp_attach,		\
	.detach = exp_detach,		\
	.map_dma_buf = exp_map,		\
	.unmap_dma_buf = exp_unmap,	\
	.begin_cpu_access = exp_begin,	\
	.end_cpu_access = exp_end,	\
	.mmap = exp_mmap,		\
	.release = exp_release

#define VMAP_OPS			\
	.vmap = exp_vmap,		\
	.vunmap = exp_vunmap

#define PIN_OPS				\
	.pin = exp_pin,			\
	.unpin = exp_unpin

static const struct dma_buf_ops static_ops = { COMMON_OPS, VMAP_OPS };
static const struct dma_buf_ops static_no_vmap_ops = { COMMON_OPS };
static const struct dma_buf_ops moving_ops = { COMMON_OPS, VMAP_OPS, PIN_OPS };
static const struct dma_buf_ops moving_no_vmap_ops = { COMMON_OPS, PIN_OPS };

static const struct dma_buf_ops *ops_of(u32 flags)
{
	if (flags & EXPORTER_MOVES)
		return flags & EXPORTER_NO_VMAP ? &moving_no_vmap_ops : &moving_ops;
	return flags & EXPORTER_NO_VMAP ? &static_no_vmap_ops : &static_ops;
}

/* ---- requests of the tests ---- */

static struct dma_buf *buffer_export(const struct exporter_create *create)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct buffer *buffer;
	struct dma_buf *dmabuf;

	if (!create->bytes || create->bytes % PAGE_SIZE || create->bytes > MOST_BYTES)
		return ERR_PTR(-EINVAL);
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	buffer->flags = create->flags;
	buffer->pages = pages_alloc(create->bytes / PAGE_SIZE);
	if (!buffer->pages) {
		kfree(buffer);
		return ERR_PTR(-ENOMEM);
	}

	info.ops = ops_of(create->flags);
	info.size = create->bytes;
	info.flags = create->flags & EXPORTER_READ_ONLY ? O_RDONLY : O_RDWR;
	info.priv = buffer;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		pages_free(buffer->pages);
		kfree(buffer);
	}
	return dmabuf;
}

static long exp_create(void __user *arg)
{
	struct exporter_create create;
	struct dma_buf *dmabuf;

	if (copy_from_user(&create, arg, sizeof(create)))
		return -EFAULT;
	dmabuf = buffer_export(&create);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	create.fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (create.fd < 0) {
		dma_buf_put(dmabuf);
		return create.fd;
	}
	return copy_to_user(arg, &create, sizeof(create)) ? -EFAULT : 0;
}

/* The dma-buf of a descriptor, if it is of this module. Drop it afterwards. */
static struct dma_buf *buffer_get(int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);

	if (!IS_ERR(dmabuf) && dmabuf->ops->release != exp_release) {
		dma_buf_put(dmabuf);
		return ERR_PTR(-EINVAL);
	}
	return dmabuf;
}

static int pages_take_back(struct dma_buf *dmabuf)
{
	struct buffer *buffer = dmabuf->priv;
	struct pages *pages;
	u32 i;

	dma_resv_assert_held(dmabuf->resv);
	if (!(buffer->flags & EXPORTER_MOVES) || buffer->former)
		return -EINVAL;
	pages = pages_alloc(buffer->pages->n);
	if (!pages)
		return -ENOMEM;
	dma_buf_invalidate_mappings(dmabuf);
	buffer->former = buffer->pages;
	for (i = 0; i < pages->n; i++)
		memset(page_address(buffer->former->page[i]), EXPORTER_POISON, PAGE_SIZE);
	WRITE_ONCE(buffer->pages, pages);
	return 0;
}

static long exp_revoke(int fd)
{
	struct dma_buf *dmabuf = buffer_get(fd);
	int err;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	dma_resv_lock(dmabuf->resv, NULL);
	err = pages_take_back(dmabuf);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_put(dmabuf);
	return err;
}

static u64 count_scribbled(const struct pages *former)
{
	u64 bytes = 0;
	u32 i, k;

	for (i = 0; former && i < former->n; i++) {
		const u8 *p = page_address(former->page[i]);

		for (k = 0; k < PAGE_SIZE; k++)
			bytes += p[k] != EXPORTER_POISON;
	}
	return bytes;
}

static long exp_state(void __user *arg)
{
	struct exporter_state state;
	struct dma_buf *dmabuf;
	struct buffer *buffer;

	if (copy_from_user(&state, arg, sizeof(state)))
		return -EFAULT;
	dmabuf = buffer_get(state.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	buffer = dmabuf->priv;
	dma_resv_lock(dmabuf->resv, NULL);
	state.attached = atomic_read(&buffer->attached);
	state.pinned = atomic_read(&buffer->pinned);
	state.mapped = atomic_read(&buffer->mapped);
	state.accessed = atomic_read(&buffer->accessed);
	state.scribbled = count_scribbled(buffer->former);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_put(dmabuf);
	return copy_to_user(arg, &state, sizeof(state)) ? -EFAULT : 0;
}

static long exporter_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case EXPORTER_CREATE:
		return exp_create((void __user *)arg);
	case EXPORTER_REVOKE:
		return exp_revoke(arg);
	case EXPORTER_STATE:
		return exp_state((void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tern-exporter",
	.fops = &exporter_fops,
	.mode = 0666,
};
module_misc_device(exporter_device);

MODULE_DESCRIPTION("Exporter of dma-bufs, for tests of tern");
MODULE_LICENSE("GPL");
