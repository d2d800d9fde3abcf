// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs: memory of another driver, which exports it as a file. No device
 * maps it for DMA: the CPU copies, so the exporter must give a kernel address
 * (vmap). The buffer is pinned, in memory that the CPU reaches. An exporter
 * that takes it back nevertheless revokes the region.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "charged.h"
#include "mem/bounds.h"
#include "mem/dmabuf.h"
#include "mem/keys.h"
#include "mem/region.h"

TERN_IMPORT_DMA_BUF();

struct tern_dmabuf {
	struct dma_buf *buf;			/* referenced */
	struct dma_buf_attachment *attach;	/* NULL: not attached */
	struct tern_region *region;
	struct iosys_map map;			/* null: not mapped */
	enum dma_data_direction dir;
	bool pinned;
	bool accessed;				/* dma_buf_begin_cpu_access() was called */
	bool revoked;				/* under the buffer's reservation lock */
};

void tern_dmabuf_lock(struct tern_dmabuf *dmabuf)
{
	if (dmabuf)
		dma_resv_lock(dmabuf->buf->resv, NULL);
}

void tern_dmabuf_unlock(struct tern_dmabuf *dmabuf)
{
	if (dmabuf)
		dma_resv_unlock(dmabuf->buf->resv);
}

/*
 * The exporter holds the reservation lock, and may be about to free memory: nothing is allocated.
 */
static void dmabuf_revoke(struct dma_buf_attachment *attach)
{
	struct tern_dmabuf *dmabuf = attach->importer_priv;

	dmabuf->revoked = true;
	tern_region_revoke(dmabuf->region);
}

/* Without allow_peer2peer an exporter moves the buffer to memory that the CPU reaches. */
static const struct dma_buf_attach_ops attach_ops = {
	.invalidate_mappings = dmabuf_revoke,
};

static struct dma_buf *dmabuf_open(int fd, u64 offset, u64 length, int access)
{
	fmode_t need = FMODE_READ | (ib_access_writable(access) ? FMODE_WRITE : 0);
	struct dma_buf *buf = dma_buf_get(fd);
	int err = 0;

	if (IS_ERR(buf))
		return buf;
	if (!length || !mem_range_within(0, buf->size, offset, length))
		err = -EINVAL;
	else if ((buf->file->f_mode & need) != need)
		err = -EACCES;
	else if (!buf->ops->vmap)
		err = -EOPNOTSUPP;
	if (!err)
		return buf;
	dma_buf_put(buf);
	return ERR_PTR(err);
}

/*
 * An exporter that never moves its buffers gets a static attachment: for a dynamic one older
 * kernels would map them for DMA.
 */
static int dmabuf_attach(struct tern_dmabuf *dmabuf, struct device *dev)
{
	struct dma_buf *buf = dmabuf->buf;
	struct dma_buf_attachment *attach;
	int err;

	if (dma_buf_is_dynamic(buf))
		attach = dma_buf_dynamic_attach(buf, dev, &attach_ops, dmabuf);
	else
		attach = dma_buf_attach(buf, dev);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	dmabuf->attach = attach;
	if (!dma_buf_is_dynamic(buf))
		return 0;

	dma_resv_lock(buf->resv, NULL);
	err = dma_buf_pin(attach);
	dma_resv_unlock(buf->resv);
	dmabuf->pinned = !err;
	return err;
}

static int dmabuf_map(struct tern_dmabuf *dmabuf)
{
	int err = dma_buf_vmap_unlocked(dmabuf->buf, &dmabuf->map);

	if (err)
		return err;
	if (dmabuf->map.is_iomem)
		return -EOPNOTSUPP;
	/* It also waits until what others have begun to write is there. */
	err = dma_buf_begin_cpu_access(dmabuf->buf, dmabuf->dir);
	dmabuf->accessed = !err;
	return err;
}

void tern_dmabuf_put(struct tern_dmabuf *dmabuf)
{
	if (!dmabuf)
		return;
	if (dmabuf->accessed)
		dma_buf_end_cpu_access(dmabuf->buf, dmabuf->dir);
	if (!iosys_map_is_null(&dmabuf->map))
		dma_buf_vunmap_unlocked(dmabuf->buf, &dmabuf->map);
	if (dmabuf->pinned) {
		dma_resv_lock(dmabuf->buf->resv, NULL);
		dma_buf_unpin(dmabuf->attach);
		dma_resv_unlock(dmabuf->buf->resv);
	}
	if (dmabuf->attach)
		dma_buf_detach(dmabuf->buf, dmabuf->attach);
	dma_buf_put(dmabuf->buf);
	kfree(dmabuf);
}

/* Gives region the buffer, which it frees from then on. On error the caller drops buf. */
static int dmabuf_give(struct tern_region *region, struct dma_buf *buf)
{
	struct tern_dmabuf *dmabuf = kzalloc(sizeof(*dmabuf), TERN_GFP_CHARGED);

	if (!dmabuf)
		return -ENOMEM;
	dmabuf->buf = buf;
	dmabuf->region = region;
	dmabuf->dir = ib_access_writable(region->access) ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
	region->dmabuf = dmabuf;
	return 0;
}

static int dmabuf_publish(struct tern_keys *keys, struct tern_region *region)
{
	struct tern_dmabuf *dmabuf = region->dmabuf;
	int err = 0;

	tern_dmabuf_lock(dmabuf);
	if (dmabuf->revoked) {
		err = -ENODEV;
	} else {
		region->state = TERN_REGION_VALID;
		tern_key_publish(keys, region);
	}
	tern_dmabuf_unlock(dmabuf);
	return err;
}

struct tern_region *tern_region_reg_dmabuf(struct tern_keys *keys, struct ib_pd *pd, int fd,
					   u64 offset, u64 length, u64 iova, int access)
{
	struct tern_region *region;
	struct dma_buf *buf;
	int err;

	err = tern_region_access_check(access);
	if (err)
		return ERR_PTR(err);
	buf = dmabuf_open(fd, offset, length, access);
	if (IS_ERR(buf))
		return ERR_CAST(buf);
	region = tern_region_create(keys, pd, TERN_REGION_MAPPED);
	if (IS_ERR(region)) {
		dma_buf_put(buf);
		return region;
	}
	err = tern_region_place(region, iova, length, access) ?: dmabuf_give(region, buf);
	if (err) {
		dma_buf_put(buf);
		goto abort;
	}

	err = dmabuf_attach(region->dmabuf, &keys->ibdev->dev) ?: dmabuf_map(region->dmabuf) ?:
	      tern_region_map_one(region, region->dmabuf->map.vaddr + offset) ?:
	      dmabuf_publish(keys, region);
	if (err)
		goto abort;
	return region;

abort:
	tern_region_abort(keys, region);
	return ERR_PTR(err);
}
