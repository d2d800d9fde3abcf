// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Address handles: the kernel resolves and keeps them, WQEs name them by an index. */
#include "ah.h"

#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {

ibv_ah *create_ah(ibv_pd *pd, ibv_ah_attr *attr)
{
	ib_uverbs_create_ah req{};
	ib_uverbs_create_ah_resp resp{};
	tern_create_ah_resp driver{};
	auto *ah = alloc_object<Ah>();
	int err;

	if (!ah)
		return nullptr;
	req.user_handle = user_handle(ah);
	req.pd_handle = pd->handle;
	fill_address(*attr, &req.attr.grh, &req.attr);
	err = WriteCommand(IB_USER_VERBS_CMD_CREATE_AH, req)
		      .resp(&resp)
		      .driver_resp(&driver)
		      .run(pd->context->cmd_fd);
	if (err)
		return create_failed(ah, err);
	ah->base.context = pd->context;
	ah->base.pd = pd;
	ah->base.handle = resp.ah_handle;
	ah->index = driver.ah;
	return &ah->base;
}

int destroy_ah(ibv_ah *ibah)
{
	return destroy_object(ibah->context, IB_USER_VERBS_CMD_DESTROY_AH, ibah->handle,
			      reinterpret_cast<Ah *>(ibah));
}

} // namespace tern
