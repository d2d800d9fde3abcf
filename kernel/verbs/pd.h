/* SPDX-License-Identifier: GPL-2.0 */
/* Protection domains. */
#ifndef TERN_VERBS_PD_H
#define TERN_VERBS_PD_H

#include <rdma/ib_verbs.h>

struct tern_pd {
	struct ib_pd ibpd;
	bool ahs_freed;			/* address vectors may still wait for RCU */
};

static inline struct tern_pd *to_tern_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct tern_pd, ibpd);
}

int tern_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int tern_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif
