/* SPDX-License-Identifier: GPL-2.0 */
/* User memory: registration and re-registration. */
#ifndef TERN_MEM_USER_H
#define TERN_MEM_USER_H

#include <rdma/ib_verbs.h>

struct tern_keys;
struct tern_mr;
struct tern_region;
struct workqueue_struct;

/*
 * Pins and publishes; with IB_ACCESS_ON_DEMAND only publishes, and wq is where page faults are
 * served. May sleep. ERR_PTR.
 */
struct tern_region *tern_region_reg_user(struct tern_keys *keys, struct ib_pd *pd, u64 start,
					 u64 length, u64 iova, int access,
					 struct workqueue_struct *wq);

/*
 * Any of IB_MR_REREG_{TRANS,PD,ACCESS}. On error the region is as before; -EBUSY if windows are
 * bound. On success mr->region is a new region under the same key. A span sees all of the old
 * registration or all of the new one. May sleep.
 */
int tern_region_rereg_user(struct tern_keys *keys, struct tern_mr *mr, int flags, u64 start,
			   u64 length, u64 iova, int access, struct ib_pd *pd);

#endif
