/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows: allocation only. */
#ifndef TERN_VERBS_MW_H
#define TERN_VERBS_MW_H

#include <rdma/ib_verbs.h>

int tern_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int tern_dealloc_mw(struct ib_mw *ibmw);

#endif
