/* SPDX-License-Identifier: GPL-2.0 */
/* Address vectors of UD: verbs/ah.c makes them, the transport sends by them. */
#ifndef TERN_CORE_AV_H
#define TERN_CORE_AV_H

#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

/* As a UD WQE uses it: found in dev->ahs, copied by value under RCU. */
struct tern_av {
	struct rcu_head rcu;
	const struct ib_pd *pd;
	struct rdma_ah_attr attr;	/* attr.grh.sgid_attr is referenced by the ib_ah */
};

#endif
