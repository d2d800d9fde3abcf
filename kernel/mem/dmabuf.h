/* SPDX-License-Identifier: GPL-2.0 */
/* Regions of dma-bufs: memory that another driver exports. */
#ifndef TERN_MEM_DMABUF_H
#define TERN_MEM_DMABUF_H

#include <rdma/ib_verbs.h>

struct tern_dmabuf;
struct tern_keys;
struct tern_region;

/*
 * Rights that such a region may have. No window is bound to it: a revocation does not look for
 * them.
 */
#define TERN_DMABUF_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
				 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/*
 * Pins, maps and publishes length bytes at offset of the dma-buf that the caller has as fd. May
 * sleep. ERR_PTR: -EBADF, -EINVAL (fd is no dma-buf, not within it), -EACCES (fd's mode),
 * -EOPNOTSUPP (the CPU cannot access it by kernel addresses), -ENODEV (revoked meanwhile), -ENOMEM,
 * and the exporter's errors.
 */
struct tern_region *tern_region_reg_dmabuf(struct tern_keys *keys, struct ib_pd *pd, int fd,
					   u64 offset, u64 length, u64 iova, int access);

/* ---- among the files of mem/. Each does nothing with NULL. ---- */

/* Gives the buffer back. The region has no span and gets none. Sleeps. */
void tern_dmabuf_put(struct tern_dmabuf *dmabuf);
/* While it is locked, the exporter does not revoke it. Sleeps. */
void tern_dmabuf_lock(struct tern_dmabuf *dmabuf);
void tern_dmabuf_unlock(struct tern_dmabuf *dmabuf);

#endif
