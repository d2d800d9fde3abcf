/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Newer kernels have an ib_umem_get_*() for each kind of memory. The one for a
 * process is older kernels' ib_umem_get().
 */
#ifndef TERN_COMPAT_RDMA_IB_UMEM_H
#define TERN_COMPAT_RDMA_IB_UMEM_H

#include_next <rdma/ib_umem.h>

#ifndef TERN_HAS_ib_umem_get_va
#define ib_umem_get_va(ibdev, start, bytes, access) ib_umem_get(ibdev, start, bytes, access)
#endif

#endif
