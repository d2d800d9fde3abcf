/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles. */
#ifndef TERN_VERBS_AH_H
#define TERN_VERBS_AH_H

#include <rdma/ib_verbs.h>

struct tern_ah {
	struct ib_ah ibah;
	u32 index;	/* of its struct tern_av in dev->ahs */
};

static inline struct tern_ah *to_tern_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct tern_ah, ibah);
}

int tern_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int tern_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int tern_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int tern_destroy_ah(struct ib_ah *ibah, u32 flags);

#endif
