/* SPDX-License-Identifier: GPL-2.0 */
/* XRC domains. */
#ifndef TERN_VERBS_XRCD_H
#define TERN_VERBS_XRCD_H

#include <rdma/ib_verbs.h>

struct tern_xrcd {
	struct ib_xrcd ibxrcd;
};

int tern_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int tern_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

#endif
