/* SPDX-License-Identifier: GPL-2.0 */
/* User contexts. */
#ifndef TERN_VERBS_UCONTEXT_H
#define TERN_VERBS_UCONTEXT_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "core/fault.h"

struct file;

struct tern_ucontext {
	struct ib_ucontext ibuc;
	struct file *doorbell;		/* referenced; NULL: there is none */
	struct tern_pager pager;
};

int tern_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
int tern_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);
extern const struct uapi_definition tern_context_defs[];
void tern_dealloc_ucontext(struct ib_ucontext *ibuc);
void tern_disassociate_ucontext(struct ib_ucontext *ibuc);

#endif
