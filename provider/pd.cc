// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection domains, thread domains, and parent domains that join the two. */
#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {

static Pd *new_pd(ibv_context *context, uint32_t handle)
{
	Pd *pd = alloc_object<Pd>();

	if (pd) {
		pd->base.context = context;
		pd->base.handle = handle;
	}
	return pd;
}

ibv_pd *alloc_pd(ibv_context *context)
{
	const ib_uverbs_alloc_pd req{};
	ib_uverbs_alloc_pd_resp resp{};
	Pd *pd = new_pd(context, 0);
	int err;

	if (!pd)
		return nullptr;
	err = WriteCommand(IB_USER_VERBS_CMD_ALLOC_PD, req).resp(&resp).run(context->cmd_fd);
	if (err)
		return create_failed(pd, err);
	pd->base.handle = resp.pd_handle;
	return &pd->base;
}

int dealloc_pd(ibv_pd *ibpd)
{
	Pd *pd = to_pd(ibpd);

	if (pd->users.load())
		return EBUSY;
	if (pd->parent) {
		pd->parent->users--;
		if (pd->td)
			pd->td->users--;
		free_object(pd);
		return 0;
	}
	return destroy_object(ibpd->context, IB_USER_VERBS_CMD_DEALLOC_PD, ibpd->handle, pd);
}

ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr)
{
	Td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return nullptr;
	}
	td = alloc_object<Td>();
	if (!td)
		return nullptr;
	td->base.context = context;
	return &td->base;
}

int dealloc_td(ibv_td *ibtd)
{
	Td *td = to_td(ibtd);

	if (td->users.load())
		return EBUSY;
	free_object(td);
	return 0;
}

/*
 * A program's allocators are accepted and never called: they are for memory that a device reads and
 * writes, queues and doorbell records. The kernel allocates the queues; there are no such records.
 */
ibv_pd *alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *attr)
{
	constexpr uint32_t kMasks =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	Pd *pd;

	if (attr->comp_mask & ~kMasks) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	if (!attr->pd || to_pd(attr->pd)->parent) {
		errno = EINVAL;
		return nullptr;
	}
	pd = new_pd(context, attr->pd->handle);
	if (!pd)
		return nullptr;
	pd->parent = to_pd(attr->pd);
	pd->parent->users++;
	if (attr->td) {
		pd->td = to_td(attr->td);
		pd->td->users++;
	}
	return &pd->base;
}

/* A PD of this context, or of the one that it was imported from. */
ibv_pd *import_pd(ibv_context *context, uint32_t handle)
{
	Pd *pd = new_pd(context, handle);

	return pd ? &pd->base : nullptr;
}

void unimport_pd(ibv_pd *pd)
{
	free_object(to_pd(pd));
}

} // namespace tern
