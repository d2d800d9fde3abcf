// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts, and the descriptor that a process gets for its context's
 * doorbell file.
 */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>

#define UVERBS_MODULE_NAME tern
#include <rdma/uverbs_named_ioctl.h>

#include "core/device.h"
#include "mem/copy.h"
#include "tern-abi.h"
#include "verbs/doorbell.h"
#include "verbs/ucontext.h"

static_assert(TERN_ATTR_QUERY_CONTEXT_RESP == 1u << UVERBS_ID_NS_SHIFT);

static u64 known_features(void)
{
	return TERN_FEATURE_NO_SYSCALL_ARM | TERN_FEATURE_ELISION | TERN_FEATURE_DOORBELL_FILE |
	       TERN_FEATURE_NULL_MR | TERN_FEATURE_DEVICE_MEMORY | TERN_FEATURE_CQ_OPTIONS |
	       (tern_copy_keeps_order() ? TERN_FEATURE_IN_ORDER : 0) |
	       TERN_FEATURE_RATE_LIMIT | TERN_FEATURE_ATOMIC_WRITE |
	       (TERN_CORE_HAS_FLUSH ? TERN_FEATURE_FLUSH : 0);
}

/* The length of the answer before it had a doorbell file. */
#define SHORTEST_RESP offsetof(struct tern_alloc_ucontext_resp, doorbell_fd)

/*
 * Opens the context's doorbell file and reserves a descriptor in the caller's table, not yet
 * installed. Below 0: the context has no doorbell file.
 */
static int doorbell_open(struct tern_ucontext *uc)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *file;

	if (fd < 0)
		return fd;
	file = tern_doorbell_file(to_tern_dev(uc->ibuc.device));
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	uc->doorbell = file;
	return fd;
}

static void doorbell_close(struct tern_ucontext *uc)
{
	if (uc->doorbell)
		fput(uc->doorbell);
	uc->doorbell = NULL;
}

int tern_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct tern_ucontext *uc = container_of(ibuc, struct tern_ucontext, ibuc);
	struct tern_alloc_ucontext_resp resp = {};
	struct tern_alloc_ucontext_req req;
	int err;

	tern_pager_init(&uc->pager);
	if (udata->inlen < sizeof(req) || udata->outlen < SHORTEST_RESP)
		return -EINVAL;
	if (udata->inlen > sizeof(req) &&
	    !ib_is_udata_cleared(udata, sizeof(req), udata->inlen - sizeof(req)))
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req));
	if (err)
		return err;

	/* Unknown bits come from a newer provider. The answer tells it what it may use. */
	resp.features = req.features & known_features();
	resp.max_inline = TERN_MAX_INLINE;
	resp.max_sge = TERN_MAX_SGE;
	resp.doorbell_fd = -1;
	if (resp.features & TERN_FEATURE_DOORBELL_FILE && udata->outlen >= sizeof(resp))
		resp.doorbell_fd = doorbell_open(uc);
	if (resp.doorbell_fd < 0)
		resp.features &= ~(u64)TERN_FEATURE_DOORBELL_FILE;

	err = ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
	if (err) {
		if (resp.doorbell_fd >= 0)
			put_unused_fd(resp.doorbell_fd);
		doorbell_close(uc);
		return err;
	}
	if (resp.doorbell_fd >= 0)
		fd_install(resp.doorbell_fd, get_file(uc->doorbell));
	return 0;
}

/* The asking process may be another than the context's own. */
int tern_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs)
{
	struct tern_ucontext *uc = container_of(ibuc, struct tern_ucontext, ibuc);
	struct tern_alloc_ucontext_resp resp = {
		.features = known_features() & ~(u64)TERN_FEATURE_DOORBELL_FILE,
		.max_inline = TERN_MAX_INLINE,
		.max_sge = TERN_MAX_SGE,
		.doorbell_fd = -1,
	};
	int err;

	if (!uverbs_attr_is_valid(attrs, TERN_ATTR_QUERY_CONTEXT_RESP))
		return 0;
	if (uc->doorbell)
		resp.doorbell_fd = get_unused_fd_flags(O_CLOEXEC);
	if (resp.doorbell_fd >= 0)
		resp.features |= TERN_FEATURE_DOORBELL_FILE;
	err = uverbs_copy_to(attrs, TERN_ATTR_QUERY_CONTEXT_RESP, &resp, sizeof(resp));
	if (err) {
		if (resp.doorbell_fd >= 0)
			put_unused_fd(resp.doorbell_fd);
		return err;
	}
	if (resp.doorbell_fd >= 0)
		fd_install(resp.doorbell_fd, get_file(uc->doorbell));
	return 0;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(tern_query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(TERN_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_STRUCT(struct tern_alloc_ucontext_resp,
								    reserved),
						 UA_OPTIONAL));

const struct uapi_definition tern_context_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &tern_query_context),
	{},
};

void tern_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct tern_ucontext *uc = container_of(ibuc, struct tern_ucontext, ibuc);

	doorbell_close(uc);
	tern_pager_stop(&uc->pager);
}

/* The device goes away under an application. Its objects are destroyed, its mappings stay. */
void tern_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}
