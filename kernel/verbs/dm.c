// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory: an area that programs map and register. This device is the
 * host, so it is memory of the host, charged to the program that allocates it.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#define UVERBS_MODULE_NAME tern
#include <rdma/uverbs_named_ioctl.h>

#include "area.h"
#include "charged.h"
#include "core/device.h"
#include "core/quota.h"
#include "tern-abi.h"
#include "verbs/dm.h"
#include "verbs/mmap.h"

static_assert(TERN_ATTR_ALLOC_DM_RESP == 1u << UVERBS_ID_NS_SHIFT);
static_assert(TERN_METHOD_QUERY_DM == 1u << UVERBS_ID_NS_SHIFT);
static_assert(TERN_ATTR_QUERY_DM_HANDLE == 1u << UVERBS_ID_NS_SHIFT);

/* length is not in ib_dm before its allocation has ended. */
static int answer_dm(struct uverbs_attr_bundle *attrs, u16 id, const struct tern_dm *dm, u64 length)
{
	const struct tern_dm_resp resp = {
		.offset = rdma_user_mmap_get_offset(dm->mmap),
		.bytes = tern_area_bytes(dm->area),
		.length = length,
	};

	return uverbs_copy_to(attrs, id, &resp, sizeof(resp));
}

/* The area and its entry. On error nothing is left. */
static int dm_map(struct tern_dm *dm, struct ib_ucontext *ibuc, u64 length)
{
	dm->area = tern_area_create(length);
	if (IS_ERR(dm->area))
		return PTR_ERR(dm->area);
	dm->mmap = tern_mmap_area(ibuc, dm->area);
	if (!IS_ERR(dm->mmap))
		return 0;
	tern_area_put(dm->area);
	return PTR_ERR(dm->mmap);
}

static void dm_unmap(struct tern_dm *dm)
{
	rdma_user_mmap_entry_remove(dm->mmap);
	tern_area_put(dm->area);
}

struct ib_dm *tern_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs)
{
	struct tern_dev *dev = to_tern_dev(ibdev);
	struct tern_dm *dm;
	u32 npages;
	int err;

	/* Offsets count from the start of a page. */
	if (!attr->length || attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	if (attr->length > TERN_MAX_DM_BYTES)
		return ERR_PTR(-ENOMEM);
	npages = PAGE_ALIGN(attr->length) >> PAGE_SHIFT;
	err = tern_count_many_in(&dev->num_dm_pages, npages, TERN_MAX_DM_BYTES >> PAGE_SHIFT);
	if (err)
		return ERR_PTR(err);
	dm = kzalloc(sizeof(*dm), TERN_GFP_CHARGED);
	if (!dm) {
		err = -ENOMEM;
		goto uncount;
	}
	err = dm_map(dm, ibuc, attr->length);
	if (err)
		goto free;
	err = answer_dm(attrs, TERN_ATTR_ALLOC_DM_RESP, dm, attr->length);
	if (err)
		goto unmap;
	return &dm->ibdm;

unmap:
	dm_unmap(dm);
free:
	kfree(dm);
uncount:
	atomic_sub(npages, &dev->num_dm_pages);
	return ERR_PTR(err);
}

int tern_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	struct tern_dm *dm = to_tern_dm(ibdm);

	atomic_sub(dm->area->npages, &to_tern_dev(ibdm->device)->num_dm_pages);
	dm_unmap(dm);
	kfree(dm);
	return 0;
}

/* For a process that was handed the command file. */
static int UVERBS_HANDLER(TERN_METHOD_QUERY_DM)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, TERN_ATTR_QUERY_DM_HANDLE);

	return answer_dm(attrs, TERN_ATTR_QUERY_DM_RESP, to_tern_dm(ibdm), ibdm->length);
}

DECLARE_UVERBS_NAMED_METHOD(TERN_METHOD_QUERY_DM,
			    UVERBS_ATTR_IDR(TERN_ATTR_QUERY_DM_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(TERN_ATTR_QUERY_DM_RESP,
						UVERBS_ATTR_STRUCT(struct tern_dm_resp, length),
						UA_MANDATORY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(tern_dm_attributes, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			     UVERBS_ATTR_PTR_OUT(TERN_ATTR_ALLOC_DM_RESP,
						 UVERBS_ATTR_STRUCT(struct tern_dm_resp, length),
						 UA_MANDATORY));

ADD_UVERBS_METHODS(tern_dm_methods, UVERBS_OBJECT_DM, &UVERBS_METHOD(TERN_METHOD_QUERY_DM));

const struct uapi_definition tern_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &tern_dm_attributes),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &tern_dm_methods),
	{},
};
