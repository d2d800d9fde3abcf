// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: the verbs around struct tern_region. mem/ says what a region
 * is and what may be done to it.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "charged.h"
#include "core/device.h"
#include "core/fault.h"
#include "core/quota.h"
#include "core/transport.h"
#include "mem/dm.h"
#include "mem/dmabuf.h"
#include "mem/fast.h"
#include "mem/odp.h"
#include "mem/region.h"
#include "mem/user.h"
#include "verbs/dm.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"
#include "verbs/udata.h"

#define MR_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
		   IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | IB_ZERO_BASED |		\
		   IB_ACCESS_HUGETLB | IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

static struct tern_mr *to_tern_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct tern_mr, ibmr);
}

/* Optional flags may be ignored by definition. Any other unknown flag is refused. */
static int clean_access(int *access, int known)
{
	*access &= ~IB_ACCESS_OPTIONAL;
	return *access & ~known ? -EOPNOTSUPP : 0;
}

static struct tern_mr *mr_alloc(struct tern_dev *dev)
{
	struct tern_mr *mr;
	int err = tern_count_in(&dev->num_mr, dev->transport->limits->max_mr);

	if (err)
		return ERR_PTR(err);
	mr = kzalloc(sizeof(*mr), TERN_GFP_CHARGED);
	if (!mr) {
		atomic_dec(&dev->num_mr);
		return ERR_PTR(-ENOMEM);
	}
	return mr;
}

static void mr_free(struct tern_dev *dev, struct tern_mr *mr)
{
	kfree(mr);
	atomic_dec(&dev->num_mr);
}

/* Gives the region to the MR. If making the region failed, frees the MR. */
static struct ib_mr *mr_finish(struct tern_dev *dev, struct tern_mr *mr,
			       struct tern_region *region)
{
	if (IS_ERR(region)) {
		mr_free(dev, mr);
		return ERR_CAST(region);
	}
	mr->region = region;
	mr->ibmr.lkey = region->key;
	mr->ibmr.rkey = region->key;
	return &mr->ibmr;
}

struct ib_mr *tern_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	struct tern_mr *mr = mr_alloc(dev);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_finish(dev, mr, tern_region_get_dma(&dev->keys, ibpd, access));
}

struct ib_mr *tern_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	struct tern_pager *pager = NULL;
	struct tern_mr *mr;
	int err;

	err = tern_udata_check(udata, 0) ?: clean_access(&access, MR_ACCESS | IB_ACCESS_ON_DEMAND);
	/* Kernel consumers have no pager. */
	if (!err && access & IB_ACCESS_ON_DEMAND && !udata)
		err = -EOPNOTSUPP;
	if (!err && access & IB_ACCESS_ON_DEMAND) {
		pager = &rdma_udata_to_drv_context(udata, struct tern_ucontext, ibuc)->pager;
		err = dev->transport->limits->odp_rc ? tern_pager_start(pager) : -EOPNOTSUPP;
	}
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_finish(dev, mr, tern_region_reg_user(&dev->keys, ibpd, start, length, iova,
						       access, pager ? pager->wq : NULL));
}

/* Advice that is carried out later. */
struct advice {
	struct work_struct work;
	struct tern_region *region;	/* referenced */
	u64 addr, length;
	enum tern_odp_advice kind;
};

static void follow_advice(struct work_struct *work)
{
	struct advice *advice = container_of(work, struct advice, work);

	/* Nobody waits for it. Pages that cannot be had are found out about when they are used. */
	tern_odp_prefetch(advice->region, advice->addr, advice->length, advice->kind);
	tern_region_put(advice->region);
	kfree(advice);
}

static int advise_one(struct ib_pd *ibpd, const struct ib_sge *sge, enum tern_odp_advice kind,
		      bool wait)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	struct advice *advice;
	struct tern_region *region;
	int err;

	region = tern_odp_find(&dev->keys, ibpd, sge->lkey, sge->addr, sge->length, kind);
	if (IS_ERR(region))
		return PTR_ERR(region);
	if (wait) {
		err = tern_odp_prefetch(region, sge->addr, sge->length, kind);
		tern_region_put(region);
		return err;
	}
	advice = kmalloc(sizeof(*advice), TERN_GFP_CHARGED);
	if (!advice) {
		tern_region_put(region);
		return -ENOMEM;
	}
	INIT_WORK(&advice->work, follow_advice);
	advice->region = region;
	advice->addr = sge->addr;
	advice->length = sge->length;
	advice->kind = kind;
	queue_work(tern_odp_wq(region), &advice->work);
	return 0;
}

int tern_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sges, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	enum tern_odp_advice kind;
	u32 i;
	int err = 0;

	if (!to_tern_dev(ibpd->device)->transport->limits->odp_rc ||
	    flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		kind = TERN_ODP_READ;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		kind = TERN_ODP_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		kind = TERN_ODP_PRESENT;
		break;
	default:
		return -EOPNOTSUPP;
	}
	for (i = 0; !err && i < num_sge; i++)
		err = advise_one(ibpd, &sges[i], kind, flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return err;
}

struct ib_mr *tern_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova, int fd,
				      int access)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	struct tern_mr *mr;
	int err;

	err = clean_access(&access, TERN_DMABUF_ACCESS);
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_finish(dev, mr, tern_region_reg_dmabuf(&dev->keys, ibpd, fd, offset, length, iova,
							 access));
}

/* ib_core has compared the range with the length that was allocated. */
struct ib_mr *tern_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	int access = attr->access_flags;
	struct tern_mr *mr;
	int err;

	err = clean_access(&access, MR_ACCESS & ~IB_ACCESS_FLUSH_PERSISTENT);
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_finish(dev, mr, tern_region_reg_dm(&dev->keys, ibpd, to_tern_dm(ibdm)->area,
						     attr->offset, attr->length, access));
}

struct ib_mr *tern_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct tern_mr *mr = to_tern_mr(ibmr);
	int err;

	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = 0;
	err = tern_udata_check(udata, 0) ?: clean_access(&access, MR_ACCESS);
	if (err)
		return ERR_PTR(err);

	err = tern_region_rereg_user(&to_tern_dev(ibmr->device)->keys, mr, flags, start,
				     length, iova, access, ibpd);
	if (err)
		return ERR_PTR(err);
	ibmr->lkey = mr->region->key;
	ibmr->rkey = mr->region->key;
	return NULL;		/* the same MR goes on */
}

struct ib_mr *tern_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct tern_dev *dev = to_tern_dev(ibpd->device);
	struct tern_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > TERN_MAX_FAST_REG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_finish(dev, mr, tern_region_alloc_fast(&dev->keys, ibpd, max_num_sg,
							 type == IB_MR_TYPE_SG_GAPS));
}

int tern_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset)
{
	struct tern_mr *mr = to_tern_mr(ibmr);

	if (mr->region->kind != TERN_REGION_FAST)
		return -EINVAL;
	return tern_region_map_sg(mr, sg, sg_nents, sg_offset);
}

int tern_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibmr->device);
	struct tern_mr *mr = to_tern_mr(ibmr);
	int err = tern_region_destroy(&dev->keys, mr->region);

	if (err)
		return err;
	mr_free(dev, mr);
	return 0;
}
