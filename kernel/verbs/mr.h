/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions. */
#ifndef TERN_VERBS_MR_H
#define TERN_VERBS_MR_H

#include <rdma/ib_verbs.h>

struct uverbs_attr_bundle;

/* Longest page list of a fast-register MR. */
#define TERN_MAX_FAST_REG_PAGES	1024

struct ib_mr *tern_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *tern_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata);
/* The command has no driver's part. */
struct ib_mr *tern_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova, int fd,
				      int access);
struct ib_mr *tern_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata);
/*
 * ibv_advise_mr(3): brings in pages of regions on demand. -EOPNOTSUPP: unknown advice or flags, or
 * no such regions on this device. Errors of a region: tern_odp_find(). With FLUSH also -EFAULT.
 */
int tern_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sges, u32 num_sge, struct uverbs_attr_bundle *attrs);
struct ib_mr *tern_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);
struct ib_mr *tern_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int tern_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);
int tern_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
