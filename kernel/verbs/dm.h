/* SPDX-License-Identifier: GPL-2.0 */
/* Device memory. */
#ifndef TERN_VERBS_DM_H
#define TERN_VERBS_DM_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct tern_area;

/* All device memory of a device. */
#define TERN_MAX_DM_BYTES	(256u << 20)

struct tern_dm {
	struct ib_dm ibdm;
	struct tern_area *area;			/* referenced; regions hold it too */
	struct rdma_user_mmap_entry *mmap;
};

static inline struct tern_dm *to_tern_dm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct tern_dm, ibdm);
}

struct ib_dm *tern_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int tern_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
extern const struct uapi_definition tern_dm_defs[];

#endif
