// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device memory: the kernel's pages, mapped, so a copy is a copy. A handle may
 * be imported by another process that shares the context.
 */
#include <sys/mman.h>

#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {
namespace {

bool is_within(const Dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->length && length <= dm->length - offset;
}

int copy_to_dm(ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	Dm *dm = to_dm(ibdm);

	if (!is_within(dm, offset, length))
		return EFAULT;
	memcpy(dm->map + offset, from, length);
	return 0;
}

int copy_from_dm(void *to, ibv_dm *ibdm, uint64_t offset, size_t length)
{
	const Dm *dm = to_dm(ibdm);

	if (!is_within(dm, offset, length))
		return EFAULT;
	memcpy(to, dm->map + offset, length);
	return 0;
}

Dm *new_dm(ibv_context *context)
{
	Dm *dm = alloc_object<Dm>();

	if (!dm)
		return nullptr;
	dm->base.context = context;
	dm->base.memcpy_to_dm = copy_to_dm;
	dm->base.memcpy_from_dm = copy_from_dm;
	dm->base.comp_mask = IBV_DM_MASK_HANDLE;
	return dm;
}

/* 0 or errno. */
int map_dm(Dm *dm, uint32_t handle, const tern_dm_resp &resp)
{
	void *map = mmap(nullptr, resp.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 dm->base.context->cmd_fd, static_cast<off_t>(resp.offset));

	if (map == MAP_FAILED)
		return errno;
	dm->base.handle = handle;
	dm->map = static_cast<unsigned char *>(map);
	dm->bytes = resp.bytes;
	dm->length = resp.length;
	return 0;
}

int command_free_dm(ibv_context *context, uint32_t handle)
{
	return Command(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE)
		.handle(UVERBS_ATTR_FREE_DM_HANDLE, handle)
		.run(context->cmd_fd);
}

} // namespace

ibv_dm *alloc_dm(ibv_context *context, ibv_alloc_dm_attr *attr)
{
	Command command(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	tern_dm_resp resp{};
	Dm *dm;
	int err;

	if (!has_feature(context, TERN_FEATURE_DEVICE_MEMORY)) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	if (attr->comp_mask) {
		errno = EINVAL;
		return nullptr;
	}
	dm = new_dm(context);
	if (!dm)
		return nullptr;
	err = command.create(UVERBS_ATTR_ALLOC_DM_HANDLE)
		      .in(UVERBS_ATTR_ALLOC_DM_LENGTH, uint64_t{attr->length})
		      .in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, attr->log_align_req)
		      .out(TERN_ATTR_ALLOC_DM_RESP, &resp)
		      .run(context->cmd_fd);
	if (err)
		return create_failed(dm, err);
	err = map_dm(dm, command.new_handle(), resp);
	if (err) {
		(void)command_free_dm(context, command.new_handle());
		return create_failed(dm, err);
	}
	return &dm->base;
}

/* While a region has it, the kernel answers EBUSY. */
int free_dm(ibv_dm *ibdm)
{
	const int err = destroy_error(ibdm->context, command_free_dm(ibdm->context, ibdm->handle));

	if (!err)
		unimport_dm(ibdm);
	return err;
}

ibv_dm *import_dm(ibv_context *context, uint32_t handle)
{
	tern_dm_resp resp{};
	Dm *dm = new_dm(context);
	int err;

	if (!dm)
		return nullptr;
	err = Command(UVERBS_OBJECT_DM, TERN_METHOD_QUERY_DM)
		      .handle(TERN_ATTR_QUERY_DM_HANDLE, handle)
		      .out(TERN_ATTR_QUERY_DM_RESP, &resp)
		      .run(context->cmd_fd);
	if (!err)
		err = map_dm(dm, handle, resp);
	return err ? create_failed(dm, err) : &dm->base;
}

void unimport_dm(ibv_dm *ibdm)
{
	Dm *dm = to_dm(ibdm);

	munmap(dm->map, dm->bytes);
	free_object(dm);
}

} // namespace tern
