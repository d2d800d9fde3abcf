/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of libibverbs' provider interface that no package installs a header
 * for: structures and the operation table. What differs between releases of
 * rdma-core (the table's members, the size of verbs_context, the end of
 * verbs_qp) is decided at load by library.h, which also has the functions.
 * Everything else is the same in all of them, and asserted.
 * Commands are not taken from the library: see command.h.
 */
#ifndef TERN_PROVIDER_ABI_VERBS_PRIVATE_H
#define TERN_PROVIDER_ABI_VERBS_PRIVATE_H

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "abi/release.h"

extern "C" {

/* Only ever handled by pointer. */
struct verbs_sysfs_dev;

enum verbs_match_kind : uint8_t {
	VERBS_MATCH_SENTINEL = 0,
	VERBS_MATCH_PCI = 1,
	VERBS_MATCH_MODALIAS = 2,
	VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind;
};

struct verbs_device;
struct verbs_context;

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device, int cmd_fd,
					       void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device, int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

/* Allocated zeroed by the provider, everything but `device` filled in by the library. */
struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	int refcount;
	void *list_next;
	void *list_prev;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

enum verbs_mr_type {
	VERBS_MR_TYPE_MR = 0,
	VERBS_MR_TYPE_NULL_MR = 1,
	VERBS_MR_TYPE_IMPORTED_MR = 2,
	VERBS_MR_TYPE_DMABUF_MR = 3,
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	enum verbs_mr_type mr_type;
	int access;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	void *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

enum verbs_qp_comp_mask : uint32_t {
	VERBS_QP_XRCD = 1u << 0,
	VERBS_QP_EX = 1u << 1,
};

/*
 * The library's comp_mask and an xrcd pointer follow ibv_qp_ex, which ends
 * where the library says: abi::set_qp_ex() knows the place.
 */
struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		unsigned char room[376 + tern::abi::kMutexMore];
	};
};

/* All members of all releases. abi::set_ops() leaves out those that the library lacks. */
struct verbs_context_ops {
#define TERN_OP(since, ret, name, args) ret(*name) args = nullptr;
#define TERN_OP_UNUSED(since, name)	void (*name)() = nullptr;
#include "abi/ops.inc"
#undef TERN_OP
#undef TERN_OP_UNUSED
};

} /* extern "C" */

namespace tern::abi {

static_assert(sizeof(verbs_match_ent) == 24);
static_assert(sizeof(verbs_device_ops) == 72);
static_assert(sizeof(ibv_device) == 664);
static_assert(offsetof(verbs_device, ops) == 664);
static_assert(offsetof(verbs_device, sysfs) == 696);
static_assert(offsetof(verbs_device, core_support) == 704);
static_assert(sizeof(verbs_device) == 712);
static_assert(sizeof(verbs_mr) == 56);
static_assert(sizeof(verbs_cq) == 288 + kMutexMore);
static_assert(sizeof(verbs_srq) == 160 + kMutexMore);
static_assert(sizeof(verbs_qp) == 376 + kMutexMore);
static_assert(sizeof(ibv_qp_ex) <= 360 + kMutexMore,
	      "a newer ibv_qp_ex: look where comp_mask is now");
static_assert(offsetof(ibv_qp_ex, wr_abort) == 336 + kMutexMore);
static_assert(sizeof(verbs_context_ops) == kMaxOps * sizeof(void *));
static_assert(sizeof(ibv_context) == 328 + kMutexMore);
static_assert(offsetof(verbs_context, context) + sizeof(ibv_context) == sizeof(verbs_context));
/* Programs get these from tern, and may be built with other headers than tern. */
static_assert(sizeof(ibv_pd) == 16);
static_assert(sizeof(ibv_td) == 8);
static_assert(sizeof(ibv_dm) == 32);
static_assert(sizeof(ibv_mw) == 32);
static_assert(sizeof(ibv_ah) == 24);
static_assert(sizeof(ibv_wc) == 48);
static_assert(sizeof(ibv_qp_attr) == 144);
static_assert(sizeof(ibv_qp_init_attr) == 64);

} // namespace tern::abi

#endif
